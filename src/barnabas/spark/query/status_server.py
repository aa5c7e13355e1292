"""Publishes the state of queries: a small HTTP server with `/metrics` and `/queries`, and a JSON file."""

import json
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from barnabas.spark.query.views import QueryView

Views = Callable[[], Sequence[QueryView]]

_log = logging.getLogger("barnabas.spark")

_INDEX = "/metrics  for Prometheus\n/queries  the same and more as JSON\n"
_REQUEST_TIMEOUT_S = 10.0
"""How long a silent client can keep a thread."""


def as_json(views: Sequence[QueryView], now_ms: int) -> str:
    return json.dumps({"time_ms": now_ms, "queries": [view.as_object(now_ms) for view in views]}, indent=2) + "\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A scraper that disconnected is normal; anything else is our bug and is logged with a trace."""
        error = sys.exception()
        level = logging.DEBUG if isinstance(error, ConnectionError | TimeoutError) else logging.ERROR
        _log.log(level, "A request for the state of queries failed", exc_info=True)


class StatusServer:
    """Serves until closed. Listens on the loopback by default: its pages show names of topics and groups."""

    def __init__(
        self, host: str, port: int, *, metrics: Callable[[str], tuple[bytes, str]], queries: Callable[[], str]
    ):
        """`metrics` gives body and content type for an Accept header."""

        class Handler(BaseHTTPRequestHandler):
            timeout = _REQUEST_TIMEOUT_S

            def do_GET(self) -> None:
                path = urlsplit(self.path).path.rstrip("/")
                if path == "/metrics":
                    self._answer(HTTPStatus.OK, *metrics(self.headers.get("Accept", "")))
                elif path == "/queries":
                    self._answer(HTTPStatus.OK, queries().encode(), "application/json")
                elif path == "":
                    self._answer(HTTPStatus.OK, _INDEX.encode(), "text/plain; charset=utf-8")
                else:
                    self._answer(HTTPStatus.NOT_FOUND, _INDEX.encode(), "text/plain; charset=utf-8")

            def _answer(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Scrapes come every few seconds and are not logged."""

        self._server = _Server((host, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="barnabas-query-status", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
