"""Chromium for tests: where it is, with which flags it starts, and one that can be killed; files over HTTP."""

import contextlib
import functools
import http.server
import os
import shutil
import signal
import subprocess
import threading
import time

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PLAIN_HOST = "plain.test"  # a name that is no localhost: pages from it have no WebCrypto and no Web Locks


class _Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript"}

    def do_GET(self):
        if self.path == "/blank.html":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>blank</title>")
        else:
            super().do_GET()

    def log_message(self, *_):
        """Say nothing."""


@contextlib.contextmanager
def served(folder):
    """Serve a folder on loopback, and a page without anything; return the port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Browser:
    """A Chromium of its own process, with a profile on disk, that can be killed."""

    def __init__(self, driver, profile):
        port = profile / "DevToolsActivePort"
        port.unlink(missing_ok=True)
        rules = f"--host-resolver-rules=MAP {PLAIN_HOST} 127.0.0.1"
        command = [CHROMIUM, *FLAGS, rules, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, start_new_session=True, **quiet)
        deadline = time.monotonic() + 60
        while not (port.exists() and port.read_text().count("\n")):
            assert self.process.poll() is None, "Chromium ended at once"
            assert time.monotonic() < deadline, "Chromium did not start"
            time.sleep(0.05)
        self._driver = driver.chromium.connect_over_cdp(f"http://127.0.0.1:{port.read_text().split()[0]}")
        self.context = self._driver.contexts[0]

    def page(self, address):
        """Open a page in a tab of its own."""
        page = self.context.new_page()
        page.goto(address)
        return page

    def kill(self):
        """Kill the process and its children, as a crash does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(Exception):
            self._driver.close()
