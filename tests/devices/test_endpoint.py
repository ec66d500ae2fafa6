"""Reports over HTTP: what is answered is on the disk, and answers, files and logs tell nothing of who sent what."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress

import pytest

import versadp as vdp
from versadp.devices import Limits, endpoint, serve
from versadp.devices.web_endpoint import Bucket
from versadp.errors import ParameterError
from versadp_tests.reports import MECH, ROUND, collector, lines, reports

pytest.importorskip("uvicorn", reason="uvicorn is not installed: the extra [collect]")
MADE = lines(reports(60))
SERVING = "import sys; from versadp.cli import main; main(sys.argv[1:])"


@contextmanager
def serving(folder, *options, begin=True):
    """Serve in a process of its own; yield it and its port."""
    words = ["collect", str(folder), "--serve", "--port", "0", *options]
    if begin:
        (folder.parent / "m.json").write_text(MECH.to_json())
        settings = ("--mechanism", str(folder.parent / "m.json"), "--round", ROUND, "--least", "10")
        words += [*settings, "--public", "bought=0|1"]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVING, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        address = process.stderr.readline()
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/reports", address)[1])
        yield process, port
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def post(port, body, method="POST", path="/reports", **headers):
    """Send a request; return status, headers and body of the answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


@contextmanager
def here(folder, limits=None, **options):
    """Serve in a thread of this process, which is quicker; yield the collector and the port."""
    ready, ports = threading.Event(), []
    with collector(folder) as opened:
        servers = []

        def tell(address):
            ports.append(int(address.split(":")[2].split("/")[0]))
            ready.set()

        import uvicorn

        made = uvicorn.Server.__init__

        def remember(self, config):
            servers.append(self)
            made(self, config)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(uvicorn.Server, "__init__", remember)
            thread = threading.Thread(target=serve, args=(opened, limits), kwargs={"port": 0, "ready": tell} | options)
            thread.start()
            assert ready.wait(30)
            while not servers[0].started:
                time.sleep(0.01)
        try:
            yield opened, ports[0]
        finally:
            servers[0].should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def test_what_is_answered_is_on_the_disk_and_survives_sigkill(tmp_path):
    with serving(tmp_path / "round") as (process, port):
        for line in MADE[:20]:
            assert post(port, line)[0] == 202
        assert post(port, b"\n".join(MADE[20:50]))[0] == 202
        process.kill()
        process.wait()
    with vdp.devices.Collector(tmp_path / "round") as opened:
        assert opened.counts == {"taken": 50}


@pytest.mark.full
def test_a_process_that_is_told_to_stop_finishes_and_may_close_the_round(tmp_path):
    with serving(tmp_path / "round", "--close") as (process, port):
        assert post(port, b"\n".join(lines(reports(400))))[0] == 413  # more than a body may have
        for start in range(0, 400, 100):
            assert post(port, b"\n".join(lines(reports(400)[start : start + 100])))[0] == 202
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
    assert re.search(r"taken +400", out)
    assert len(vdp.load(tmp_path / "round" / "release")) == 400
    with serving(tmp_path / "round", begin=False) as (process, port):
        assert post(port, MADE[0])[0] == 410
    with vdp.devices.Collector(tmp_path / "round") as opened:
        assert opened.counts == {"taken": 400, "after close": 1}


def test_answers_tell_nothing_about_a_report(tmp_path):
    other = json.dumps({"format": "versadp report"}).encode()
    with here(tmp_path / "round") as (opened, port):
        given = [MADE[0], MADE[0], b"", b"\xff", other, MADE[1].replace(b"2026-11", b"2026-12"), b"[" * 1000]
        answers = {str(post(port, body)) for body in given}
        assert len(answers) == 1
        assert answers == {"(202, {'cache-control': 'no-store', 'content-length': '0'}, b'')"}
        assert opened.counts["repeated"] == 1


def test_nothing_of_who_sent_it_is_kept_or_printed(tmp_path):
    agent = "Agent-of-somebody-in-particular"
    with serving(tmp_path / "round") as (process, port):
        for body in (MADE[0], b"nonsense-that-was-sent"):
            post(port, body, **{"User-Agent": agent, "X-Forwarded-For": "203.0.113.77", "Cookie": "somebody=here"})
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(b"no HTTP at all, by " + agent.encode() + b"\r\n\r\n")
            raw.recv(1000)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    told = (out + err).encode()
    for path in (tmp_path / "round").iterdir():
        told += path.read_bytes()
    for secret in (agent, "203.0.113.77", "127.0.0.1", "somebody", "nonsense-that-was-sent"):
        assert secret.encode() not in told


def test_limits(tmp_path):
    with here(tmp_path / "round", Limits(body=2000, rate=1000)) as (opened, port):
        assert post(port, b" " * 2001)[0] == 413
        chunked = b"5dc\r\n" + b" " * 1500 + b"\r\n"
        assert post(port, 2 * chunked + b"0\r\n\r\n", **{"Transfer-Encoding": "chunked"})[0] == 413
        assert post(port, MADE[0], **{"Content-Encoding": "gzip"})[0] == 415
        assert post(port, b"", method="GET")[0] == 405
        assert post(port, b"", path="/../collection.json", method="GET")[0] == 404
        assert post(port, b"", path="/reports/", Host="other.example")[0] == 404  # and is sent nowhere else
        assert post(port, MADE[0])[0] == 202
        assert opened.counts == {"taken": 1}
    with here(tmp_path / "slow", Limits(rate=0.5)) as (opened, port):
        assert post(port, MADE[0])[0] == 202
        status, headers, _ = post(port, MADE[1])
        assert status == 429
        assert 1 <= int(headers["retry-after"]) <= 2
        assert opened.counts == {"taken": 1}


def test_a_full_queue_is_told_to_come_again(tmp_path):
    with here(tmp_path / "round", Limits(queue=1)) as (opened, port):
        held, entered = threading.Event(), threading.Event()
        take = opened.take

        def slowly(given):
            entered.set()
            assert held.wait(30)
            return take(given)

        opened.take = slowly
        results, refused = [], threading.Event()

        def send(k):
            results.append(post(port, MADE[k])[:2])
            refused.set()

        threads = [threading.Thread(target=send, args=(k,)) for k in range(3)]
        threads[0].start()
        assert entered.wait(30)  # the first is being written
        for thread in threads[1:]:  # one of the two waits, the other comes too many
            thread.start()
        assert refused.wait(30)
        assert [(status, headers["retry-after"]) for status, headers in results] == [(429, "1")]
        held.set()
        for thread in threads:
            thread.join(30)
        assert [status for status, _ in results] == [429, 202, 202]
        assert opened.counts == {"taken": 2}


def test_a_disk_that_takes_nothing_is_told_and_mended(tmp_path, monkeypatch):
    import os

    with here(tmp_path / "round") as (opened, port):
        assert post(port, MADE[0])[0] == 202
        with monkeypatch.context() as patch:

            def full(*_):
                raise OSError(28, "No space left on device")

            patch.setattr(os, "pwrite", full)
            status, headers, _ = post(port, MADE[1])
            assert (status, headers["retry-after"]) == (503, "30")
        assert post(port, MADE[1])[0] == 202
        assert post(port, MADE[2])[0] == 202
    with vdp.devices.Collector(tmp_path / "round") as opened:
        assert opened._rows == 3


def test_pages_of_other_origins_need_leave(tmp_path):
    asked = {"Origin": "https://survey.example", "Access-Control-Request-Method": "POST"}
    with here(tmp_path / "round", origins=["https://survey.example"]) as (_, port):
        status, headers, _ = post(port, b"", method="OPTIONS", **asked)
        assert (status, headers["access-control-allow-origin"]) == (200, "https://survey.example")
        assert post(port, b"", method="OPTIONS", **(asked | {"Origin": "https://other.example"}))[0] == 400
        assert post(port, MADE[0], Origin="https://survey.example")[1]["access-control-allow-origin"]
    with here(tmp_path / "other") as (_, port):
        status, headers, _ = post(port, b"", method="OPTIONS", **asked)
        assert status == 405
        assert "access-control-allow-origin" not in headers


def test_many_at_once_are_taken_each_once(tmp_path):
    with here(tmp_path / "round") as (opened, port):
        statuses = []

        def send(some):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            for line in some:
                connection.request("POST", "/reports", line)
                answer = connection.getresponse()
                answer.read()
                statuses.append(answer.status)
            connection.close()

        threads = [threading.Thread(target=send, args=(MADE,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert set(statuses) == {202}
        assert opened.counts == {"taken": 60, "repeated": 300}


def test_a_connection_has_a_bounded_life(tmp_path, monkeypatch):
    """Slowloris: a head that never ends; a body that never ends is told so."""
    monkeypatch.setattr("versadp.devices.server.LIFE_SECONDS", 0.5)
    monkeypatch.setattr("versadp.devices.web_endpoint.READ_SECONDS", 0.5)
    monkeypatch.setattr("versadp.devices.server.AGAIN_SECONDS", 0.5)
    with here(tmp_path / "round") as (_, port):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as raw:
            raw.sendall(b"POST /reports HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            assert raw.recv(100) == b""
        with socket.create_connection(("127.0.0.1", port), timeout=30) as raw:
            raw.sendall(b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            assert raw.recv(100).startswith(b"HTTP/1.1 408")
        assert post(port, MADE[0])[0] == 202


def test_idle_connections_keep_nobody_out(tmp_path, monkeypatch):
    """Of more than there may be the oldest idle one is closed."""
    monkeypatch.setattr("versadp.devices.server.MOST_CONNECTIONS", 3)
    with here(tmp_path / "round") as (_, port):
        held = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(3)]
        for raw in held:
            raw.sendall(b"POST /reports HTTP/1.1\r\n")
        assert post(port, MADE[0])[0] == 202
        with suppress(ConnectionResetError):
            assert held[0].recv(1) == b""
        held[2].sendall(b"Host: x\r\nContent-Length: 0\r\n\r\n")
        assert held[2].recv(100).startswith(b"HTTP/1.1 202")
        for raw in held:
            raw.close()


@pytest.mark.parametrize(
    "wrong", [{"body": 2**20 + 1}, {"body": 10}, {"rate": 0}, {"queue": 0}, {"rate": float("nan")}]
)
def test_limits_that_are_none(wrong):
    with pytest.raises(ParameterError):
        Limits(**wrong)


def test_a_port_that_is_taken_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken, collector(tmp_path / "round") as opened:
        with pytest.raises(ParameterError, match="cannot listen at"):
            serve(opened, port=taken.getsockname()[1])
        with pytest.raises(ParameterError, match="no port 70000"):
            serve(opened, port=70_000)
        assert endpoint(opened).routes


def test_a_bucket_gives_its_rate():
    bucket = Bucket(5.0)
    given = sum(bucket.wait(100 + k / 100) == 0 for k in range(1001))
    assert given == 5 + 50  # a second's worth at once, then five a second
