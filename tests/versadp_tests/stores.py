"""A store that speaks S3, and a way to it that fails: real servers on 127.0.0.1, started and ended by tests."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "Sesame0penSesame0penSesame0penSesame0pen"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


_PLAIN = {"Content-Type": "application/octet-stream"}


class Store:
    """moto's server, as a process of its own."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [
            sys.executable,
            "-c",
            "from moto.server import main; main()",
            "-H",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = os.environ | CREDENTIALS
        self._process = subprocess.Popen(command, env=environment, **quiet)
        for _ in range(600):
            assert self._process.poll() is None
            with suppress(OSError):
                self.ask("PUT", "surveys")
                break
            time.sleep(0.1)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method, key, data=None):
        """Ask the server by plain HTTP, past everything that is tested."""
        request = urllib.request.Request(f"{self.url}/{key}", data=data, method=method, headers=_PLAIN)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read()

    def put_folder(self, folder, key):
        """Put the files of a folder there, as another tool would."""
        for path in folder.iterdir():
            self.ask("PUT", f"{key}/{path.name}", path.read_bytes())

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()


class BadWay:
    """A server between a reader and a store; `fault(method, path, count)` says what befalls a request, or None."""

    def __init__(self, store):
        self.fault, self.count, self.asked = (lambda *_: None), 0, []
        way = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def pass_on(self):
                data = self.body()
                way.count += 1
                way.asked.append((self.command, self.path))
                fault = way.fault(self.command, self.path, way.count)
                if fault in {500, 503, 403}:
                    self.send_response(fault)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                if fault == "silent":
                    way.stopped.wait(30)
                    self.close_connection = True
                    return
                other = http.client.HTTPConnection("127.0.0.1", store.port, timeout=20)
                hop = {"transfer-encoding", "expect", "connection", "content-length"}
                kept = {name: value for name, value in self.headers.items() if name.lower() not in hop}
                other.request(self.command, self.path, data, kept)
                answer = other.getresponse()
                body = answer.read()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in {"transfer-encoding", "connection", "date", "server"}:
                        self.send_header(name, value)
                self.end_headers()
                self.send_body(body, fault)

            def body(self):
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                pieces = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                while self.rfile.readline().strip():
                    pass
                return b"".join(pieces)

            def send_body(self, body, fault):
                with suppress(OSError):
                    if self.command == "HEAD":
                        return
                    if fault == "cut":
                        self.wfile.write(body[: len(body) // 2])
                        self.close_connection = True
                    elif fault == "drip":
                        for byte in body:
                            self.wfile.write(bytes([byte]))
                            self.wfile.flush()
                            if way.stopped.wait(0.05):
                                break
                        self.close_connection = True
                    elif fault == "changed":
                        middle = len(body) // 2
                        self.wfile.write(body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :])
                    else:
                        self.wfile.write(body)

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = pass_on  # noqa: N815 - names of http.server's

        self.stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(20)
