"""`barnabas kafka-consumer-perf-test`: Kafka's ConsumerPerformance, on librdkafka.

The numbers are those of a Python client: compare runs of this script with each other, not with the Java tool's.
"""

import argparse
import random
import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from barnabas.cli.connection import Connection, check
from barnabas.cli.kafka.options import ScriptParser, UsageError, collect_properties, deprecated
from barnabas.cli.kafka.topics import include_pattern

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_MB = 1024 * 1024
_BATCH = 1000
_REST = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, " + (
    "fetch.MB.sec, fetch.nMsg.sec"
)
# java.text.SimpleDateFormat's letters in strftime's; milliseconds are filled in by us.
_DATE_LETTERS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "\x01",
    "Z": "%z",
    "z": "%Z",
}


def parser() -> ScriptParser:
    found = ScriptParser("kafka-consumer-perf-test", "Measure how fast a topic can be read.")
    found.value("--bootstrap-server", "addresses of brokers", metavar="HOST:PORT,...")
    found.value("--topic", "the topic to read", metavar="TOPIC")
    found.value("--include", "topics that match a regular expression", metavar="REGEX")
    found.value("--num-records", "how many records", metavar="N", type=int)
    found.value("--messages", "deprecated: --num-records", metavar="N", type=int)
    found.value("--group", "the group to join", metavar="GROUP")
    found.value("--fetch-size", "bytes of a partition per request", metavar="BYTES", type=int, default=_MB)
    found.value("--socket-buffer-size", "bytes of the socket's buffer", metavar="BYTES", type=int, default=2 * _MB)
    found.switch("--from-latest", "start at the end if nothing is committed")
    found.optional_value("--timeout", "stop when no record came for this long", metavar="MS", without=10_000, type=int)
    found.value(
        "--reporting-interval", "print a line per interval of this length", metavar="MS", type=int, default=5000
    )
    found.switch("--show-detailed-stats", "print a line per interval")
    found.switch("--hide-header", "do not print the header")
    found.value("--date-format", "how times are shown", metavar="FORMAT", default="yyyy-MM-dd HH:mm:ss:SSS")
    found.values("--command-property", "a setting of the consumer", metavar="KEY=VALUE")
    found.value("--command-config", "a properties file with such settings", metavar="FILE")
    found.value("--consumer.config", "deprecated: --command-config", metavar="FILE")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server")
    if (options.topic is None) == (options.include is None):
        reader.error("Exactly one of the following arguments is required: --topic, --include")
    if options.messages is not None:
        deprecated("--messages", "--num-records")
    wanted = options.num_records if options.num_records is not None else options.messages
    if wanted is None:
        reader.error("Exactly one of the following arguments is required: --num-records, --messages")
    show_time = date_format(options.date_format)
    consumer = Connection(options.bootstrap_server, _properties(options)).consumer({})
    if not options.hide_header:
        first = "time, threadId" if options.show_detailed_stats else "start.time, end.time"
        print(f"{first}, {_REST}")
    measurement = _Measurement(options, show_time)
    try:
        measurement.run(consumer, wanted)
    finally:
        consumer.close()
    measurement.print_total()
    return 0


class _Measurement:
    def __init__(self, options: argparse.Namespace, show_time: "_ShowTime") -> None:
        self._options = options
        self._show_time = show_time
        self._records = self._bytes = 0
        self._join_ms = self._join_ms_in_window = 0
        self._join_started_ms = self._started_ms = _now_ms()
        self._ended_ms = self._started_ms

    def run(self, consumer: "Consumer", wanted: int) -> None:
        timeout_ms = self._options.timeout or 10_000
        pattern = None if self._options.include is None else f"^({include_pattern(self._options.include).pattern})$"
        consumer.subscribe([pattern or self._options.topic], on_assign=self._on_assign, on_revoke=self._on_revoke)
        window_started_ms = last_record_ms = _now_ms()
        window = (0, 0)
        while self._records < wanted and _now_ms() - last_record_ms <= timeout_ms:
            messages = consumer.consume(min(_BATCH, wanted - self._records), 0.1)
            now_ms = _now_ms()
            for message in messages:
                error = message.error()
                if error is not None:
                    check(error)
                    continue
                last_record_ms = now_ms
                self._records += 1
                self._bytes += len(message.key() or b"") + len(message.value() or b"")
            if messages and now_ms - window_started_ms >= self._options.reporting_interval:
                if self._options.show_detailed_stats:
                    self._print_window(window, window_started_ms, now_ms)
                window_started_ms, window, self._join_ms_in_window = now_ms, (self._records, self._bytes), 0
        self._ended_ms = _now_ms()
        if self._records < wanted:
            print(
                f"WARNING: Exiting before consuming the expected number of records: timeout ({timeout_ms} ms) "
                "exceeded. You can use the --timeout option to increase the timeout."
            )

    def print_total(self) -> None:
        if self._options.show_detailed_stats:
            return
        elapsed_s = max(self._ended_ms - self._started_ms, 1) / 1000
        fetch_ms = self._ended_ms - self._started_ms - self._join_ms
        fetch_s = max(fetch_ms, 1) / 1000
        megabytes = self._bytes / _MB
        print(
            f"{self._show_time(self._started_ms)}, {self._show_time(self._ended_ms)}, {megabytes:.4f}, "
            f"{megabytes / elapsed_s:.4f}, {self._records}, {self._records / elapsed_s:.4f}, {self._join_ms}, "
            f"{fetch_ms}, {megabytes / fetch_s:.4f}, {self._records / fetch_s:.4f}"
        )

    def _print_window(self, window: tuple[int, int], started_ms: int, now_ms: int) -> None:
        records, size = self._records - window[0], (self._bytes - window[1]) / _MB
        elapsed_s = max(now_ms - started_ms, 1) / 1000
        fetch_ms = now_ms - started_ms - self._join_ms_in_window
        per_s = 1000 / fetch_ms if fetch_ms > 0 else 0.0
        print(
            f"{self._show_time(now_ms)}, 0, {self._bytes / _MB:.4f}, {size / elapsed_s:.4f}, {self._records}, "
            f"{records / elapsed_s:.4f}, {self._join_ms_in_window}, {fetch_ms}, {size * per_s:.4f}, "
            f"{records * per_s:.4f}",
            flush=True,
        )

    def _on_revoke(self, consumer: "Consumer", partitions: list[Any]) -> None:
        self._join_started_ms = _now_ms()

    def _on_assign(self, consumer: "Consumer", partitions: list[Any]) -> None:
        elapsed_ms = _now_ms() - self._join_started_ms
        self._join_ms += elapsed_ms
        self._join_ms_in_window += elapsed_ms


class _ShowTime:
    def __init__(self, layout: str) -> None:
        self._layout = layout

    def __call__(self, time_ms: int) -> str:
        moment = datetime.fromtimestamp(time_ms / 1000).astimezone()
        return moment.strftime(self._layout).replace("\x01", f"{time_ms % 1000:03}")


def date_format(text: str) -> _ShowTime:
    def translate(found: re.Match[str]) -> str:
        if found.group(1) is not None:
            return found.group(1).replace("%", "%%")
        if found.group() not in _DATE_LETTERS:
            raise UsageError(
                f"--date-format has {found.group()!r}, which is not known here",
                hint=f"known are {', '.join(_DATE_LETTERS)}",
            )
        return _DATE_LETTERS[found.group()]

    return _ShowTime(re.sub(r"'([^']*)'|([a-zA-Z])\2*", translate, text))


def _properties(options: argparse.Namespace) -> dict[str, str]:
    old_file = vars(options)["consumer.config"]
    if old_file is not None:
        deprecated("--consumer.config", "--command-config")
    found = {
        "group.id": options.group or f"perf-consumer-{random.randrange(100_000)}",
        "receive.buffer.bytes": str(options.socket_buffer_size),
        "max.partition.fetch.bytes": str(options.fetch_size),
        "auto.offset.reset": "latest" if options.from_latest else "earliest",
        "check.crcs": "false",
        "client.id": "perf-consumer-client",
    }
    properties = collect_properties(
        [old_file, options.command_config], [("--command-property", options.command_property)]
    )
    return found | properties


def _now_ms() -> int:
    return int(time.time() * 1000)
