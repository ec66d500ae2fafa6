"""The survey page in Chromium: phone and desktop, light and dark, by keyboard and to a screen reader; what it sends."""

import http.server
import json
import threading
from importlib.util import find_spec

import pytest

import versadp as vdp
from versadp.devices import fingerprint
from versadp_tests import typescript
from versadp_tests.chromium import CHROMIUM, FLAGS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium, or set CHROMIUM"),
]
PAGE = typescript.SURVEY / "index.html"
MECHANISM = vdp.Mechanism.from_json((typescript.SURVEY / "mechanism.json").read_text())
LOOKS = {"light": ("light", 1100), "dark": ("dark", 1100), "phone": ("light", 360), "dark phone": ("dark", 390)}


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(params=LOOKS)
def context(request, chromium):
    scheme, width = LOOKS[request.param]
    found = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    yield found
    found.close()


@pytest.fixture
def one(chromium):
    found = chromium.new_context(viewport={"width": 1100, "height": 800})
    yield found
    found.close()


def opened(context, query=""):
    """Open the page, and return it with what its console and the network were told."""
    page, told = context.new_page(), []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: told.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(PAGE.as_uri() + query)
    return page, told


def answer(page, hours=6, content=7, secret="no"):
    page.fill("#hours", str(hours))
    page.fill("#content", str(content))
    page.check(f"input[value={secret}]")
    page.click("text=Add noise")
    page.wait_for_selector("#coefficients tr")


def faults(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [(each["id"], [node["target"] for node in each["nodes"]][:3]) for each in found]


def test_page_fits_and_is_accessible_before_and_after(context):
    page, told = opened(context)
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(fits)
    assert faults(page) == []
    assert page.is_hidden("#noise")
    answer(page)
    page.click("summary")
    assert page.evaluate(fits)
    assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.scroll'))")  # the whole table
    assert faults(page) == []
    assert told == []
    small = "[...document.querySelectorAll('button, input[type=number], summary')].filter(e => e.offsetParent)"
    assert page.evaluate(f"Math.min(...{small}.map(e => e.offsetHeight))") >= 34


def test_page_works_by_keyboard_alone(one):
    page, told = opened(one)
    keys = page.keyboard
    keys.press("Tab")
    keys.type("6")
    keys.press("Tab")
    keys.type("7")
    keys.press("Tab")
    keys.press("ArrowDown")  # to "no"
    keys.press("Tab")
    keys.press("Enter")
    page.wait_for_selector("#coefficients tr")
    assert page.evaluate("document.activeElement.textContent") == "What leaves your device"
    keys.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    keys.press("Enter")
    assert "epsilon 5" in page.inner_text("#statement")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Space")
    page.get_by_text("From 10,001").wait_for()
    assert page.get_attribute("#crowds button:nth-child(2)", "aria-pressed") == "true"
    assert told == []


def test_focus_is_seen(one):
    page, _ = opened(one)
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_questions_must_be_answered_within_their_bounds(one):
    page, _ = opened(one)
    page.click("text=Add noise")
    assert page.is_hidden("#noise")
    page.fill("#hours", "13")
    page.fill("#content", "7")
    page.check("input[value=no]")
    page.click("text=Add noise")
    assert page.is_hidden("#noise")


def test_noise_is_of_the_declared_law(one):
    """Answers of 21 fresh devices lie in the lattice, and are not all alike: at most 20% of devices give one answer."""
    page, _ = opened(one)
    answer(page)
    said = page.locator("p.others").first.inner_text().partition(":")[2] + ", " + page.inner_text("dd.sent >> nth=0")
    hours = {float(each.split()[0].replace("−", "-")) for each in said.split(",")}
    assert len(hours) > 1
    block = MECHANISM.blocks[0]
    low = block.bounds[0][0] - (block.window[0] - 1) / 2 * block.step[0]
    assert all((value - low) / block.step[0] in range(block.outputs[0]) for value in hours)


def test_more_neighbours_narrow_the_interval(one):
    page, _ = opened(one)
    answer(page)

    def width():
        ends = page.inner_text("#coefficients tr:first-child td:nth-child(3)").replace("−", "-").split(" to ")
        return float(ends[1]) - float(ends[0])

    def of(crowd, reports):
        page.click(f"text={crowd}")
        page.get_by_text(f"From {reports}").wait_for(timeout=60_000)
        return width()

    ratio = of("10,000", "10,001") / of("50,000", "50,001")
    assert 1.5 < ratio < 3.3  # the square root of 5 is 2.24; errors vary by 4% at 10,000
    assert page.inner_text("#coefficients tr:first-child td:nth-child(2)").startswith("−0.")


class Collector:
    """A collector on loopback that keeps what it is sent."""

    def __init__(self, status=202):
        kept = self.kept = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                kept.append((self.path, self.rfile.read(int(self.headers["Content-Length"])), dict(self.headers)))
                self.send_response(status)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()

            def log_message(self, *_):
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def collector():
    found = Collector()
    yield found
    found.close()


def send(page):
    page.evaluate("document.querySelector('#sent').textContent = ''")
    page.click("#send")
    page.locator("#sent:not(:empty)").wait_for()
    return page.inner_text("#sent")


def test_report_reaches_a_collector_on_this_machine_once(one, collector):
    page, _ = opened(one, f"?collector={collector.address}&round=2026-11")
    answer(page)
    assert faults(page) == []
    assert collector.kept == []  # nothing leaves before the button
    assert send(page).startswith("Taken")
    answer(page, hours=11, content=1, secret="yes")
    assert send(page).startswith("Taken")
    (path, first, headers), (_, second, _) = collector.kept
    assert path == "/reports"
    assert first == second  # the round is answered once, whatever is answered later
    assert first.count(b"\n") == 1
    assert "Cookie" not in headers
    assert "Referer" not in headers
    report = json.loads(first)
    assert list(report) == ["format", "version", "mechanism", "round", "id", "values"]
    assert report["mechanism"] == fingerprint(MECHANISM)
    assert report["round"] == "2026-11"
    for block in MECHANISM.blocks:
        assert report["values"][block.columns[0]] in range(block.outputs[0])


@pytest.mark.parametrize(
    "query", ["?collector=https://evil.example/", "?collector=http://127.0.0.1.evil.example/", "?collector=x"]
)
def test_other_collectors_are_refused(one, query):
    page, told = opened(one, query)
    answer(page)
    assert page.is_hidden("#send")
    assert "nothing is sent" in page.inner_text("#where")
    assert told == []


def test_page_cannot_reach_other_machines(one):
    page, _ = opened(one)
    reached = page.evaluate("fetch('http://192.0.2.1/').then(() => 'reached', (error) => error.name)")
    assert reached == "TypeError"
    said = page.evaluate("""new Promise((resolve) => {
        document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
        fetch("http://192.0.2.1/").catch(() => {});
    })""")
    assert said == "connect-src"


@pytest.mark.parametrize(("status", "says"), [(410, "closed"), (429, "Not taken")])
def test_what_the_collector_says_is_told(one, status, says):
    closed = Collector(status)
    page, _ = opened(one, f"?collector={closed.address}")
    answer(page)
    assert says in send(page)
    closed.close()
    assert "does not answer" in send(page)
