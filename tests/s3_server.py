"""An S3 server on loopback: moto's, with one request at a time, so that `If-None-Match` is atomic.

    python tests/s3_server.py          # prints its address

Requests below a prefix of keys can fail, counted from 0:

    POST /-/plan   {"prefix": "lake/t", "faults": {"3": "503"}}
    GET /-/calls   [["PUT", "lake/t/_delta_log/00000000000000000000.json"], ...]

| fault     | the server                                                    |
|-----------|---------------------------------------------------------------|
| `503`     | does nothing and answers 503                                  |
| `403`     | does nothing and answers 403                                  |
| `lost`    | does what it is asked, and closes the connection              |
| `500`     | does what it is asked, and answers 500                        |
| `412`     | does nothing and answers 412                                  |
| `torn`    | answers with half of the body                                 |
| `timeout` | does what it is asked, and answers after the client's timeout |
| `lag`     | lists without the newest commit                               |
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from waiting import wait_until

BUCKET = "lake"
TIMEOUT = 2.0
"""Seconds that clients of tests wait."""


class Faulty:
    """A WSGI application in front of another."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._prefix: str | None = None
        self._faults: dict[str, str] = {}
        self._calls: list[tuple[str, str]] = []

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"].lstrip("/")
        if path.startswith("-/"):
            return self._control(path, environ, start)
        query = environ.get("QUERY_STRING", "")
        listed = re.search(r"prefix=([^&]*)", query)
        where = f"{path}/{unquote(listed[1])}" if listed else path
        with self._lock:
            fault = self._fault(environ["REQUEST_METHOD"], where)
            if fault in ("503", "403", "412"):
                start(f"{fault} injected", [("Content-Length", "0")])
                return [b""]
            answer: list[Any] = []
            body = b"".join(self._app(environ, lambda *given: answer.append(given)))
        status, headers = answer[-1][:2]
        if fault in ("lost", "torn"):
            _cut(environ, status, headers, body[: len(body) // 2] if fault == "torn" else None)
            raise ConnectionResetError("injected")
        if fault == "500":
            start("500 injected", [("Content-Length", "0")])
            return [b""]
        if fault == "timeout":
            wait_until(lambda: False, seconds=1.5 * TIMEOUT)
        if fault == "lag":
            body = _stale(body)
            headers = [one for one in headers if one[0].lower() != "content-length"]
            headers.append(("Content-Length", str(len(body))))
        start(status, headers)
        return [body]

    def _fault(self, method: str, where: str) -> str | None:
        if self._prefix is None or not where.startswith(self._prefix):
            return None
        self._calls.append((method, where))
        return self._faults.get(str(len(self._calls) - 1))

    def _control(self, path: str, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        with self._lock:
            if path == "-/plan":
                given = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
                self._prefix, self._faults, self._calls = given["prefix"], given["faults"], []
            answer = json.dumps(self._calls).encode()
        start("200 OK", [("Content-Length", str(len(answer)))])
        return [answer]


def _cut(environ: dict[str, Any], status: str, headers: list[tuple[str, str]], part: bytes | None) -> None:
    """Answers with part of a body, or not at all, and closes the connection."""
    connection = environ["werkzeug.socket"]
    if part is not None:
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        connection.sendall(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + part)
    connection.close()


def _stale(body: bytes) -> bytes:
    """A listing without the commit of the highest version."""
    found = re.findall(rb"<Contents>.*?</Contents>", body, re.S)
    commits = [one for one in found if re.search(rb"/\d{20}\.json</Key>", one)]
    return body.replace(max(commits), b"") if len(commits) > 1 else body


def main() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: object) -> None:
            pass

    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, Faulty(app), threaded=True, request_handler=Quiet)
    print(f"http://127.0.0.1:{server.port}", flush=True)
    server.serve_forever()


class Server:
    """A server in a process of its own."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def options(self, retries: int = 10) -> dict[str, Any]:
        """The storage options with which a client reaches the server."""
        return {
            "endpoint": self.endpoint,
            "access_key_id": "test",
            "secret_access_key": "test",
            "region": "us-east-1",
            "virtual_hosted_style_request": False,
            "client_options": {"allow_http": True, "timeout": f"{TIMEOUT}s" if retries < 10 else "60s"},
            "retry_config": {"max_retries": retries},
        }

    def plan(self, prefix: str | None, faults: Mapping[int, str]) -> None:
        """Sets the faults of the requests to come."""
        body = json.dumps({"prefix": prefix, "faults": faults}).encode()
        urllib.request.urlopen(f"{self.endpoint}/-/plan", body, timeout=30).close()

    def calls(self) -> list[tuple[str, str]]:
        """The requests since the last plan."""
        with urllib.request.urlopen(f"{self.endpoint}/-/calls", timeout=30) as answer:
            return [(method, path) for method, path in json.load(answer)]


@contextmanager
def running() -> Iterator[Server]:
    """Starts a server with an empty bucket, and ends it."""
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            server = Server(process.stdout.readline().strip())
            request = urllib.request.Request(f"{server.endpoint}/{BUCKET}", method="PUT")
            urllib.request.urlopen(request, timeout=60).close()
            yield server
        finally:
            process.kill()


if __name__ == "__main__":
    main()
