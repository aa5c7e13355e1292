"""`barnabas kafka-console-producer`: Kafka's ConsoleProducer, on librdkafka. Keyed records go where the Java client
puts them (murmur2)."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from barnabas.cli.connection import Connection
from barnabas.cli.kafka.line_reader import LineReader
from barnabas.cli.kafka.options import ScriptParser, collect_properties, deprecated, was_given
from barnabas.cli.sender import INTERRUPTED_FLUSH_S, Sender

_LINE_READER = "org.apache.kafka.tools.LineMessageReader"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

# Flag, property, default. Flags win over properties, and properties over defaults.
_SETTINGS = (
    ("--request-required-acks", "acks", "-1"),
    ("--timeout", "linger.ms", 1000),
    ("--message-send-max-retries", "retries", 3),
    ("--retry-backoff-ms", "retry.backoff.ms", 100),
    ("--request-timeout-ms", "request.timeout.ms", 1500),
    ("--max-memory-bytes", "buffer.memory", 33_554_432),
    ("--batch-size", "batch.size", 16_384),
    ("--max-partition-memory-bytes", "batch.size", 16_384),
    ("--metadata-expiry-ms", "metadata.max.age.ms", 300_000),
    ("--socket-buffer-size", "send.buffer.bytes", 102_400),
    ("--max-block-ms", "max.block.ms", 60_000),
)


def parser() -> ScriptParser:
    found = ScriptParser("kafka-console-producer", "Send lines from stdin, one record each.")
    found.value("--bootstrap-server", "addresses of brokers", metavar="HOST:PORT,...")
    found.value("--topic", "the topic to write to", metavar="TOPIC")
    found.switch("--sync", "wait for each record before the next is read")
    found.optional_value("--compression-codec", "none, gzip, snappy, lz4 or zstd", metavar="CODEC", without="gzip")
    found.value("--batch-size", "bytes per batch", metavar="BYTES", type=int)
    found.value("--max-partition-memory-bytes", "deprecated: --batch-size", metavar="BYTES", type=int)
    found.value("--max-memory-bytes", "bytes that may be buffered", metavar="BYTES", type=int)
    found.value("--message-send-max-retries", "how often a record is retried", metavar="N", type=int)
    found.value("--retry-backoff-ms", "how long to wait before a retry", metavar="MS", type=int)
    found.value("--timeout", "how long to wait for more records for a batch", metavar="MS", type=int)
    found.value("--request-required-acks", "which replicas must acknowledge: 0, 1, all", metavar="ACKS")
    found.value("--request-timeout-ms", "how long a request may take", metavar="MS", type=int)
    found.value("--metadata-expiry-ms", "how long metadata may be used", metavar="MS", type=int)
    found.value("--max-block-ms", "how long to wait for the topic", metavar="MS", type=int)
    found.value("--socket-buffer-size", "bytes of the socket's buffer", metavar="BYTES", type=int)
    found.value("--line-reader", f"only {_LINE_READER}", metavar="CLASS", default=_LINE_READER)
    found.values("--reader-property", "how lines are read, such as parse.key=true", metavar="KEY=VALUE")
    found.value("--reader-config", "a properties file with such settings", metavar="FILE")
    found.values("--property", "deprecated: --reader-property", metavar="KEY=VALUE")
    found.values("--command-property", "a setting of the producer", metavar="KEY=VALUE")
    found.value("--command-config", "a properties file with such settings", metavar="FILE")
    found.values("--producer-property", "deprecated: --command-property", metavar="KEY=VALUE")
    found.value("--producer.config", "deprecated: --command-config", metavar="FILE")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server", "--topic")
    if options.line_reader != _LINE_READER:
        reader.error(f"--line-reader {options.line_reader} is refused: Java classes cannot be loaded here")
    if options.compression_codec is not None and options.compression_codec not in _CODECS:
        reader.error(f"--compression-codec is one of {', '.join(_CODECS)}, not {options.compression_codec}")
    properties = _properties(options)
    lines = LineReader(
        collect_properties(
            [options.reader_config],
            [("--property", options.property), ("--reader-property", options.reader_property)],
        )
    )
    connection = Connection(options.bootstrap_server, properties)
    sender = Sender(connection, options.topic, _fixed_config(properties))
    sender.find_topic(wait_s=int(properties["max.block.ms"]) / 1000)
    try:
        for record in lines.read(_lines()):
            sender.send(record.key, record.value, record.headers, _any_partition)
            if options.sync:
                sender.finish()
        sender.finish()
    except KeyboardInterrupt:
        sender.finish(INTERRUPTED_FLUSH_S)
        raise
    finally:
        sender.report_failures()
    return 1 if sender.failed else 0


def _properties(options: argparse.Namespace) -> dict[str, str]:
    old_file = vars(options)["producer.config"]
    for given, flag, instead in (
        (options.property, "--property", "--reader-property"),
        (options.producer_property, "--producer-property", "--command-property"),
        (old_file, "--producer.config", "--command-config"),
        (options.max_partition_memory_bytes, "--max-partition-memory-bytes", "--batch-size"),
    ):
        if given:
            deprecated(flag, instead)
    found = collect_properties(
        [old_file, options.command_config],
        [("--producer-property", options.producer_property), ("--command-property", options.command_property)],
    )
    for flag, name, default in _SETTINGS:
        typed = vars(options)[flag[2:].replace("-", "_")]
        if was_given(options, flag):
            found[name] = str(typed)
        else:
            found.setdefault(name, str(default))
    if options.compression_codec is not None:
        found["compression.type"] = options.compression_codec
    found.setdefault("client.id", "console-producer")
    return found


def _fixed_config(properties: dict[str, str]) -> dict[str, object]:
    """Defaults of the Java client."""
    safe = properties["acks"] in ("-1", "all") and int(properties["retries"]) > 0
    return {
        "partitioner": "murmur2_random",
        "enable.idempotence": safe,
        "delivery.timeout.ms": 120_000,
    }


def _lines() -> Iterator[bytes]:
    """Lines of stdin as they come; with a prompt for people."""
    prompt = sys.stdin.isatty()
    while True:
        if prompt:
            print(">", end="", flush=True)
        line = sys.stdin.buffer.readline()
        if not line:
            return
        yield line


def _any_partition(size: int) -> int:
    return -1
