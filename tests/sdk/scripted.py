"""An HTTP server that answers by a script, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    method: str
    path: str
    body: Any
    authorization: str | None


class Answer(NamedTuple):
    """*status* 0 closes the connection without an answer."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = {}


Script = Callable[[Asked], Answer]


class Server:
    def __init__(self, script: Script) -> None:
        self.asked: list[Asked] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # the library's name for it
                self._answer(None)

            def do_POST(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, body: Any) -> None:
                asked = Asked(self.command, self.path, body, self.headers.get("Authorization"))
                server.asked.append(asked)
                answer = script(asked)
                if not answer.status:
                    self.close_connection = True
                    return
                content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                """Nobody wants to know."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    """Gives *answers* in turn, the last one for ever."""
    left = list(answers)
    server = Server(lambda asked: left.pop(0) if len(left) > 1 else left[0])
    try:
        yield server
    finally:
        server.close()


def good(**data: Any) -> Answer:
    return Answer(200, {"success": True, "data": {"timestamp": "2026-01-02T03:04:05.678Z", **data}})


def bad(status: int, error: str = "no", code: str | None = None, **headers: str) -> Answer:
    body = {"success": False, "error": error} | ({"errorCode": code} if code else {})
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
