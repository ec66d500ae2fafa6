"""A million lines in bounded memory, and an endpoint under load that is killed: figures, and what must hold."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

import versadp as vdp
from versadp_bench.measure import peak_memory
from versadp_tests.reports import MECH, ROUND, lines, reports

pytestmark = pytest.mark.slow
ALONE = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
BAD = [b"no json", b"[1, 2", b'{"format": "versadp report"}', b"\xff\xfe", b'{"a": NaN}']
MEASURED = """
import json, sys, time
import versadp as vdp
from versadp_bench.measure import peak_memory
folder, path, mechanism = sys.argv[1:]
mech = vdp.Mechanism.from_json(open(mechanism).read())
def most():
    return 1024 * peak_memory()
with vdp.devices.Collector(folder, mech, round="2026-11", least=1000, public={"bought": [0, 1]}) as collector:
    wall, cpu = time.perf_counter(), time.process_time()
    counts = collector.take_file(path)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    taking = peak_memory()
    release = collector.close_round()
found = {"counts": counts, "wall": wall, "cpu": cpu, "taking": taking, "closing": peak_memory(), "rows": len(release)}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """A million reports and 5% bad lines."""
    folder = tmp_path_factory.mktemp("million")
    (folder / "m.json").write_text(MECH.to_json())
    with (folder / "reports.ndjson").open("wb") as file:
        for seed in range(50):
            for number, line in enumerate(lines(reports(20_000, seed=seed))):
                file.write(line + b"\n")
                if number % 20 == 0:
                    file.write(BAD[number // 20 % 5] + b"\n")
    return folder


def test_a_million_lines_on_one_core_in_bounded_memory(million, record_property):
    words = [million / "round", million / "reports.ndjson", million / "m.json"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, words)], check=False, capture_output=True, env=os.environ | ALONE
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found = json.loads(done.stdout)
    rate = 1_050_000 / found["cpu"]
    record_property("lines per second of processor time", round(rate))
    record_property("lines per second", round(1_050_000 / found["wall"]))
    record_property("gibibytes", (found["taking"], found["closing"]))
    assert sum(found["counts"].values()) == 1_050_000
    assert found["counts"]["taken"] == found["rows"] == 1_000_000
    assert rate >= 50_000
    assert found["taking"] < 0.28  # 300 MB, of which half is Python with its libraries
    assert found["closing"] < 0.33


@pytest.mark.parametrize(("per_request", "seconds"), [(1, 4.0), (100, 4.0)])
def test_nothing_acknowledged_is_lost_by_an_endpoint_that_is_killed_under_load(
    tmp_path, per_request, seconds, record_property
):
    (tmp_path / "m.json").write_text(MECH.to_json())
    words = ["collect", tmp_path / "round", "--mechanism", tmp_path / "m.json", "--round", ROUND, "--least", "10"]
    words += ["--public", "bought=0|1", "--serve", "--port", "0", "--rate", "100000"]
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from versadp.cli import main; main(sys.argv[1:])", *map(str, words)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=os.environ | ALONE,
    )
    port = int(re.search(r":(\d+)/reports", process.stderr.readline())[1])
    head, tail = lines(reports(1))[0].split(b'"id": "')[0], lines(reports(1))[0].split(b'"id": "')[1][64:]
    end, acknowledged = time.monotonic() + seconds, [[] for _ in range(8)]

    def send(mine):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            while time.monotonic() < end + 5:
                ids = [os.urandom(32).hex() for _ in range(per_request)]
                body = b"\n".join(head + b'"id": "' + own.encode() + tail for own in ids)
                connection.request("POST", "/reports", body)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 202:
                    mine += ids
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    senders = [threading.Thread(target=send, args=(mine,)) for mine in acknowledged]
    for sender in senders:
        sender.start()
    time.sleep(seconds)
    most = peak_memory(process.pid)
    process.send_signal(signal.SIGKILL)
    for sender in senders:
        sender.join(60)
    process.communicate()
    told = {own for mine in acknowledged for own in mine}
    with vdp.devices.Collector(tmp_path / "round") as opened:
        there = {own.hex() for rows in opened._batches() for own in rows.column(0).to_pylist()}
        assert opened.counts["taken"] == len(there)
    record_property("reports per second", round(len(told) / seconds))
    assert told <= there
    assert len(told) > 100
    assert most < 0.3  # GiB
