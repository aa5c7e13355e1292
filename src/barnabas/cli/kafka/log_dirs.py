"""`barnabas kafka-log-dirs`: Kafka's LogDirsCommand. The last line is one JSON object."""

import json
from collections.abc import Sequence
from typing import Any

from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection
from barnabas.cli.wire_client import Cluster
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest


def parser() -> ScriptParser:
    found = ScriptParser("kafka-log-dirs", "Describe the log directories of brokers.")
    add_connection(found)
    found.switch("--describe", "describe the log directories")
    found.value("--broker-list", "only these brokers", metavar="ID,...", default="")
    found.value("--topic-list", "only these topics", metavar="TOPIC,...", default="")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server", "--describe")
    topics = {name for name in options.topic_list.split(",") if name}
    with connect(options) as cluster:
        known = sorted(broker.broker_id for broker in cluster.brokers().brokers)
        brokers = _chosen(options.broker_list, known)
        print("Querying brokers for log directories information")
        described = [{"broker": broker, "logDirs": log_dirs(cluster, broker, topics)} for broker in brokers]
    print(f"Received log directory information from brokers {','.join(map(str, brokers))}")
    print(json.dumps({"brokers": described, "version": 1}, separators=(",", ":")))
    return 0


def log_dirs(cluster: Cluster, broker: int, topics: set[str]) -> list[dict[str, Any]]:
    answer = cluster.call("describe_log_dirs", DescribeLogDirsRequest(topics=None), node=broker)
    return [
        {
            "partitions": [
                {
                    "partition": f"{topic.name}-{partition.partition_index}",
                    "size": partition.partition_size,
                    "offsetLag": partition.offset_lag,
                    "isFuture": partition.is_future_key,
                }
                for topic in found.topics
                if not topics or topic.name in topics
                for partition in topic.partitions
            ],
            "error": None if found.error_code == ErrorCode.none else found.error_code.name.upper(),
            "logDir": found.log_dir,
        }
        for found in answer.results
    ]


def _chosen(text: str, known: list[int]) -> list[int]:
    try:
        wanted = [int(broker) for broker in text.split(",") if broker.strip()]
    except ValueError as error:
        raise UsageError(f"--broker-list needs numbers, not {text!r}", hint="write --broker-list 1,2") from error
    if missing := sorted(set(wanted) - set(known)):
        raise UsageError(
            f"The given brokers do not exist from --broker-list: {','.join(map(str, missing))}. "
            f"Current existent brokers: {','.join(map(str, known))}"
        )
    return wanted or known
