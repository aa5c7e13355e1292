"""`barnabas.spark.watch`: monitors the queries of a session."""

import atexit
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from py4j.protocol import Py4JError

from barnabas.portable.replacement import replace_file
from barnabas.spark.errors import UserError
from barnabas.spark.query.listener import QueryListener
from barnabas.spark.query.status_server import StatusServer, as_json
from barnabas.spark.query.views import QueryView
from barnabas.spark.query.watcher import Watcher

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("barnabas.spark")

REFRESH_S = 5.0
_CLOSE_TIMEOUT_S = 15.0
"""For the last commits at the end of a program; longer than the watcher waits for one answer of a broker."""


def watch(
    spark: "SparkSession",
    *,
    port: int | None = None,
    host: str = "127.0.0.1",
    json_file: str | os.PathLike[str] | None = None,
    refresh_s: float = REFRESH_S,
) -> "Watch":
    """Commit the offsets of each query with a `kafka.group.id` after each batch, and publish the lag of all queries.

    `port`: of an HTTP server with `/metrics` (Prometheus) and `/queries` (JSON); 0 takes a free one. `json_file`:
    written after each measurement. `refresh_s`: how often to measure when no batch ends.
    """
    return Watch(spark, port=port, host=host, json_file=json_file, refresh_s=refresh_s)


class Watch:
    """Runs until it is closed, or until the program ends."""

    def __init__(
        self,
        spark: "SparkSession",
        *,
        port: int | None,
        host: str,
        json_file: str | os.PathLike[str] | None,
        refresh_s: float,
    ) -> None:
        if not hasattr(spark, "_jsparkSession"):
            raise UserError(
                "A Spark Connect session cannot be watched: its queries run in another process.",
                "call watch() in the program that runs Spark itself, with a session of barnabas.spark.session()",
            )
        if refresh_s <= 0:
            raise UserError(f"refresh_s is {refresh_s}.", "give a number of seconds greater than 0")
        self._session = spark
        self._file = None if json_file is None else Path(json_file).absolute()
        if self._file is not None and not self._file.parent.is_dir():
            raise UserError(f"There is no directory {self._file.parent} for json_file.", "create it, or choose another")
        self._watcher = Watcher(refresh_s=refresh_s, publish=self._publish)
        self._server = None if port is None else self._open_server(host, port)
        self._closed = False
        self._watcher.start()
        self._listener = QueryListener(spark, self._watcher)
        spark.streams.addListener(self._listener)
        self._listener.watch_running()
        atexit.register(self.close)

    @property
    def port(self) -> int | None:
        """Where the HTTP server listens."""
        return None if self._server is None else self._server.port

    def views(self) -> Sequence[QueryView]:
        """The last known state of each query."""
        return self._watcher.views()

    def close(self) -> None:
        """Commit finished batches, then stop watching. Queries keep running."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        self._listener.catch_up()
        try:
            self._session.streams.removeListener(self._listener)
        except (Py4JError, ConnectionError, AttributeError):
            _log.debug("Spark was already stopped, with its listeners")
        if not self._watcher.close(_CLOSE_TIMEOUT_S):
            _log.warning("The last offsets of queries may not be in their groups: the broker did not answer in time.")
        if self._server is not None:
            self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _publish(self, views: list[QueryView]) -> None:
        if self._file is not None:
            replace_file(self._file, as_json(views, _now_ms()).encode(), sync=False)

    def _open_server(self, host: str, port: int) -> StatusServer:
        try:
            from prometheus_client import CollectorRegistry
            from prometheus_client.exposition import choose_encoder

            from barnabas.spark.query.prometheus import QueryCollector
        except ImportError:
            raise UserError(
                "The package prometheus-client is not installed, which /metrics needs.",
                "run pip install 'barnabas[spark]'",
            ) from None
        registry = CollectorRegistry()
        registry.register(QueryCollector(self.views))

        def metrics(accept: str) -> tuple[bytes, str]:
            encode, content_type = choose_encoder(accept)
            return encode(registry), content_type

        try:
            return StatusServer(host, port, metrics=metrics, queries=lambda: as_json(self.views(), _now_ms()))
        except OSError as error:
            raise UserError(
                f"Cannot listen on {host}:{port}: {error.strerror}.",
                "choose another port, or 0 for a free one",
            ) from error


def _now_ms() -> int:
    return round(time.time() * 1000)
