"""A real HTTP server on this machine that can break off, refuse ranges, and serve wrong bytes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """What is served at every path, and what was asked."""

    content: bytes
    ranges: bool = True
    break_after: list[int] = field(default_factory=list)
    """Bytes after which the next requests are broken off; when used up, answers are whole."""
    status: int = 200
    pause: float = 0.0
    """Seconds between blocks of 4 KiB."""
    asked: list[str | None] = field(default_factory=list)
    """The ``Range`` of every request."""
    sent: int = 0
    url: str = ""


@contextmanager
def serving(served: Served) -> Iterator[Served]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers["Range"]
            served.asked.append(asked)
            if served.status != 200:
                self.send_error(served.status)
                return
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and served.ranges else 0
            if start >= len(served.content) > 0:
                self.send_error(416)
                return
            body = served.content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(served.content) - 1}/{len(served.content)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            body = body[: served.break_after.pop(0)] if served.break_after else body
            for place in range(0, len(body), 4096):
                self.wfile.write(body[place : place + 4096])
                served.sent += len(body[place : place + 4096])
                time.sleep(served.pause)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that went away is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}/file"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
