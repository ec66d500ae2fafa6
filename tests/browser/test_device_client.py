"""The TypeScript client in Chromium: IndexedDB, two tabs at once, restarts and kills; `make test-browser`."""

import itertools
import json
import struct
from importlib.util import find_spec

import pytest

from versadp.devices import vectors
from versadp_tests import device_parity, typescript
from versadp_tests.chromium import CHROMIUM, PLAIN_HOST, Browser, served

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium, or set CHROMIUM"),
]
MECHANISM = next(case["mechanism"] for case in vectors.load()["laws"] if case["name"] == "numbers each")
ENTRIES = {"WebCrypto": ("127.0.0.1", "index"), "plain http": (PLAIN_HOST, "plain")}
SECRET = 31234.56789  # a value that must be nowhere on disk
OPEN = """async ([file, mechanism, most]) => {
    const device = await import(`/dist/${file}.js`);
    window.client = await device.Versadp.open(mechanism, { store: device.indexedDbStore(), most, clamped: () => {} });
    return window.client.fingerprint;
}"""
REPORT = "([record, round]) => window.client.report(record, { round })"
ENTRY = """(name) => new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onerror = reject;
    request.onsuccess = () => {
        const found = request.result.transaction("device").objectStore("device").get("entry");
        found.onsuccess = () => resolve(found.result);
    };
})"""


@pytest.fixture(scope="module")
def port():
    typescript.need_build()
    with served(typescript.CLIENT) as number:
        yield number


@pytest.fixture(scope="module")
def driver():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as found:
        yield found


@pytest.fixture
def start(driver, port, tmp_path):
    """Return a function that starts Chromium with one profile; all are killed at the end."""
    started = []

    def make():
        started.append(Browser(driver, tmp_path))
        return started[-1]

    yield make
    for browser in started:
        if browser.process.poll() is None:
            browser.kill()


@pytest.fixture(params=ENTRIES)
def entry(request, port):
    """Return the address of a blank page, and the file of the client's entry."""
    host, file = ENTRIES[request.param]
    return f"http://{host}:{port}/blank.html", file


def opened(browser, entry, most=50):
    page = browser.page(entry[0])
    page.evaluate(OPEN, [entry[1], MECHANISM, most])
    return page


def test_where_the_entries_run(start, port):
    """The premise: a page on plain http has neither WebCrypto nor Web Locks."""
    browser = start()
    seen = "[isSecureContext, !!(crypto.subtle), !!navigator.locks]"
    assert browser.page(f"http://127.0.0.1:{port}/blank.html").evaluate(seen) == [True, True, True]
    assert browser.page(f"http://{PLAIN_HOST}:{port}/blank.html").evaluate(seen) == [False, False, False]


def test_all_layers_of_the_vectors(start, port):
    page = start().page(f"http://127.0.0.1:{port}/blank.html")
    said = page.evaluate(
        """async () => {
        const { layers } = await import("/test/layers.mjs");
        const vectors = await (await fetch("/vectors-4.json")).json();
        const seen = {};
        for (const [name, cases] of Object.entries(await layers())) {
            seen[name] = { cases: 0, different: [] };
            for await (const [what, found, wanted] of cases(vectors)) {
                seen[name].cases++;
                if (JSON.stringify(found) !== JSON.stringify(wanted)) seen[name].different.push([what, found]);
            }
        }
        return seen;
    }"""
    )
    assert {name: found["different"] for name, found in said.items() if found["different"]} == {}
    assert said["thresholds of 200 windows"]["cases"] == 200
    assert said["whole records by index"]["cases"] == said["whole records by plain"]["cases"] == 100
    assert len(said) == 12


def test_random_records_are_those_of_python(start, port):
    page = start().page(f"http://127.0.0.1:{port}/blank.html")
    lines = [json.dumps(case) for case in device_parity.cases(40, 25, seed=4)]
    for file in ("index", "plain"):
        work = "async ([file, lines]) => (await import('/test/compare.mjs')).compare(file, lines)"
        found = page.evaluate(work, [file, lines])
        assert found["different"] == []
        assert found["same"] == found["clamped"] == found["records"] == 1000
        assert found["fingerprints"] == 0


def test_key_cannot_be_exported(start, entry):
    page = opened(start(), entry)
    kind = page.evaluate(
        f"""async () => {{
        const {{ key }} = await ({ENTRY})("versadp");
        if (typeof key === "string") return "text";
        const raw = await crypto.subtle.exportKey("raw", key).then(() => "exported", () => "refused");
        const jwk = await crypto.subtle.exportKey("jwk", key).then(() => "exported", () => "refused");
        return [key.extractable, raw, jwk];
    }}"""
    )
    assert kind == ([False, "refused", "refused"] if entry[1] == "index" else "text")


def test_two_tabs_at_once_give_one_answer(start, entry):
    browser = start()
    tabs = [opened(browser, entry) for _ in range(2)]
    rounds = [f"r{k}" for k in range(10)]
    for number, tab in enumerate(tabs):  # begun in both, and not waited for
        tab.evaluate(
            """([rounds, age]) => { window.made = Promise.all(rounds.map((round, k) =>
                window.client.report({ age: age + k, income: 1000 * k }, { round }))); }""",
            [rounds, 20 + 30 * number],
        )
    one, other = (tab.evaluate("window.made") for tab in tabs)
    assert [report["round"] for report in one] == rounds
    assert one == other


def test_first_open_in_two_tabs_makes_one_key(start, entry):
    browser = start()
    tabs = [browser.page(entry[0]) for _ in range(3)]
    for tab in tabs:
        tab.evaluate(
            f"([file, mechanism, most]) => {{ window.begun = ({OPEN})([file, mechanism, most]); }}",
            [entry[1], MECHANISM, 5],
        )
    for tab in tabs:
        tab.evaluate("window.begun")
    made = [tab.evaluate(REPORT, [{"age": 41, "income": 1}, "a"]) for tab in tabs]
    assert made[0] == made[1] == made[2]


def test_most_holds_over_tabs(start, entry):
    browser = start()
    tabs = [opened(browser, entry, most=3) for _ in range(2)]
    count = """async (tab) => { let given = 0;
        for (let k = 0; k < 4; k++) await window.client.report({ age: 20 + 10 * k + 5 * tab, income: 1 },
            { round: `r${tab}-${k}` }).then(() => given++, (error) => { if (error.reason !== "spent") throw error; });
        return given; }"""
    for number, tab in enumerate(tabs):
        tab.evaluate(f"(tab) => {{ window.given = ({count})(tab); }}", number)
    assert sum(tab.evaluate("window.given") for tab in tabs) == 3


def test_round_has_the_same_report_after_a_kill(start, entry):
    browser = start()
    page = opened(browser, entry)
    made = page.evaluate(REPORT, [{"age": 41, "income": SECRET}, "2026-11"])
    browser.kill()  # right after the report was returned: nothing had time to be written later
    page = opened(start(), entry)
    assert page.evaluate(REPORT, [{"age": 80, "income": 5}, "2026-11"]) == made


def test_every_report_that_left_survives_a_kill_at_any_moment(start, entry):
    left = {}
    for attempt in range(3):
        browser = start()
        page = opened(browser, entry, most=10_000)
        for name, report in left.items():
            assert page.evaluate(REPORT, [{"age": 20, "income": 7}, name]) == report
        sent = []
        page.on("console", lambda message, sent=sent: sent.append(message.text))
        page.evaluate(
            """(attempt) => { (async () => { for (let k = 0; ; k++) console.log(JSON.stringify(
                await window.client.report({ age: 18 + k % 9, income: k }, { round: `r${attempt}-${k}` }))); })(); }""",
            attempt,
        )
        page.wait_for_timeout(300)
        browser.kill()
        left |= {report["round"]: report for report in map(json.loads, sent)}
        assert len(sent) > 3
    page = opened(start(), entry, most=10_000)
    for name, report in left.items():
        assert page.evaluate(REPORT, [{"age": 20, "income": 7}, name]) == report


def test_true_values_are_nowhere_on_disk(start, entry, tmp_path):
    browser = start()
    page = opened(browser, entry)
    page.evaluate(REPORT, [{"age": 41, "income": SECRET}, "2026-11"])
    kept = page.evaluate(
        f"async () => {{ const {{ key, ...rest }} = await ({ENTRY})('versadp'); return JSON.stringify(rest); }}"
    )
    assert str(SECRET) not in kept
    browser.kill()
    found = 0
    for file in itertools.chain(tmp_path.glob("**/IndexedDB/**/*"), tmp_path.glob("**/Local Storage/**/*")):
        if file.is_file():
            data, found = file.read_bytes(), found + 1
            for pattern in (str(SECRET).encode(), str(SECRET).encode("utf-16-le"), struct.pack("<d", SECRET)):
                assert pattern not in data
    assert found


def test_names_of_stores_are_devices(start, entry):
    page = start().page(entry[0])
    ids = page.evaluate(
        """async ([file, mechanism]) => {
        const { Versadp, indexedDbStore } = await import(`/dist/${file}.js`);
        const made = [];
        for (const name of ["one", "two", "one"]) {
            const client = await Versadp.open(mechanism, { store: indexedDbStore(name), most: 2 });
            made.push((await client.report({ age: 41, income: 1 }, { round: "a" })).id);
        }
        return made;
    }""",
        [entry[1], MECHANISM],
    )
    assert ids[0] == ids[2] != ids[1]
