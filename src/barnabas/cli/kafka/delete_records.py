"""`barnabas kafka-delete-records`: Kafka's DeleteRecordsCommand."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection
from barnabas.cli.wire_client import Cluster, Partition, by_topic
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

_EXAMPLE = '{"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}'
_WORDS = {
    ErrorCode.offset_out_of_range: "The requested offset is not within the range of offsets maintained by the server.",
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.policy_violation: "The topic does not delete records: its cleanup.policy is compact alone.",
}


def parser() -> ScriptParser:
    found = ScriptParser("kafka-delete-records", "Delete records of partitions up to an offset.")
    add_connection(found)
    found.value("--offset-json-file", f"which partitions, up to which offset (-1: all): {_EXAMPLE}", metavar="FILE")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server", "--offset-json-file")
    offsets = parse_offsets(_read(options.offset_json_file))
    with connect(options) as cluster:
        print("Executing records delete operation")
        results = _delete(cluster, offsets)
    print("Records delete operation completed:")
    for (topic, index), (code, low_watermark) in results.items():
        outcome = f"low_watermark: {low_watermark}" if code == ErrorCode.none else f"error: {_words(code)}"
        print(f"partition: {topic}-{index}\t{outcome}")
    return 0


def parse_offsets(content: str) -> dict[Partition, int]:
    try:
        document = json.loads(content)
        rows = [((row["topic"], int(row["partition"])), int(row["offset"])) for row in document["partitions"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError("The input string is not a valid JSON of offsets", hint=f"write it like {_EXAMPLE}") from error
    if document.get("version", 1) != 1:
        raise UsageError(f"Not supported version field value {document['version']}", hint="write version 1")
    if not rows:
        raise UsageError("The partitions list is empty", hint=f"write it like {_EXAMPLE}")
    twice = [place for place, count in Counter(place for place, _ in rows).items() if count > 1]
    if twice:
        raise CommandFailed(
            "Offset json file contains duplicate topic partitions: " + ",".join(f"{t}-{i}" for t, i in twice)
        )
    return dict(rows)


def _delete(cluster: Cluster, offsets: dict[Partition, int]) -> dict[Partition, tuple[ErrorCode, int]]:
    results = {}
    for leader, places in cluster.by_leader(offsets).items():
        if leader is None:
            results.update(dict.fromkeys(places, (ErrorCode.unknown_topic_or_partition, -1)))
            continue
        topics = tuple(
            DeleteRecordsTopic(
                name=name,
                partitions=tuple(
                    DeleteRecordsPartition(partition_index=index, offset=offsets[name, index]) for index in indexes
                ),
            )
            for name, indexes in by_topic(places).items()
        )
        request = DeleteRecordsRequest(topics=topics, timeout=timedelta(seconds=30))
        for topic in cluster.call("delete_records", request, node=leader).topics:
            for one in topic.partitions:
                results[topic.name, one.partition_index] = (one.error_code, one.low_watermark)
    return {place: results[place] for place in offsets}


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read()
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=f"write it like {_EXAMPLE}") from error


def _words(code: ErrorCode) -> str:
    return _WORDS.get(code, code.name.upper())
