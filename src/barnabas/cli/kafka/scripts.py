"""Which scripts there are. A script is imported when it is called, so that listing them costs nothing."""

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from barnabas.cli.kafka.options import ScriptParser


class Script(NamedTuple):
    module: str
    summary: str


SCRIPTS = {
    "kafka-broker-api-versions": Script("broker_api_versions", "Show the API versions of each broker."),
    "kafka-client-metrics": Script("client_metrics", "Choose which clients push which metrics."),
    "kafka-cluster": Script("cluster_tool", "Show the cluster's id and endpoints, and unregister brokers."),
    "kafka-configs": Script("configs", "Describe and change the settings of topics and brokers."),
    "kafka-console-consumer": Script("console_consumer", "Write the records of a topic to stdout."),
    "kafka-console-producer": Script("console_producer", "Send lines from stdin, one record each."),
    "kafka-console-share-consumer": Script("console_share_consumer", "Consume records as a member of a share group."),
    "kafka-consumer-groups": Script("consumer_groups", "List, describe, reset and delete consumer groups."),
    "kafka-consumer-perf-test": Script("consumer_perf", "Measure how fast a topic can be read."),
    "kafka-delete-records": Script("delete_records", "Delete records of partitions up to an offset."),
    "kafka-dump-log": Script("dump_log", "Print segment, index and snapshot files; needs no broker."),
    "kafka-features": Script("features", "Describe and change the features of the cluster."),
    "kafka-get-offsets": Script("get_offsets", "Print the offsets of partitions by time or position."),
    "kafka-groups": Script("groups", "List groups of all types."),
    "kafka-leader-election": Script("leader_election", "Elect new leaders of partitions."),
    "kafka-log-dirs": Script("log_dirs", "Describe the log directories of brokers."),
    "kafka-metadata-quorum": Script("metadata_quorum", "Describe the metadata quorum."),
    "kafka-producer-perf-test": Script("producer_perf", "Measure how fast a topic can be written."),
    "kafka-reassign-partitions": Script("reassign_partitions", "Move partitions between brokers and log directories."),
    "kafka-share-groups": Script("share_groups", "List, describe, reset and delete share groups."),
    "kafka-topics": Script("topics", "Create, describe, list, alter and delete topics."),
    "kafka-transactions": Script("transactions", "List and describe transactions, and abort hanging ones."),
}


def run_script(name: str, arguments: Sequence[str]) -> int:
    """The exit status."""
    module = importlib.import_module(f"barnabas.cli.kafka.{SCRIPTS[name].module}")
    return cast(Callable[[Sequence[str]], int], module.run)(arguments)


def parser_of(name: str) -> "ScriptParser":
    module = importlib.import_module(f"barnabas.cli.kafka.{SCRIPTS[name].module}")
    return cast("Callable[[], ScriptParser]", module.parser)()
