"""`barnabas kafka-cluster`: Kafka's ClusterTool. Flags may come before or after the command."""

from collections.abc import Sequence
from typing import Final

from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, add_connection, deprecated
from barnabas.cli.wire_client import Cluster, check
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest

COMMANDS: Final = ("cluster-id", "unregister", "list-endpoints")


def parser() -> ScriptParser:
    found = ScriptParser("kafka-cluster", "Show the cluster's id and endpoints, and unregister brokers.")
    found.command(*COMMANDS)
    add_connection(found)
    found.value("--config", "the older name of --command-config", metavar="FILE")
    found.value("--id", "with unregister: the broker", metavar="ID", type=int)
    found.switch("--include-fenced-brokers", "with list-endpoints: also fenced brokers")
    for short, long in (("-b", "--bootstrap-server"), ("-c", "--command-config"), ("-i", "--id")):
        found.alias(short, long)
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    if options.config is not None:
        deprecated("--config", "--command-config")
        options.command_config = options.command_config or options.config
    reader.require(options, "--bootstrap-server")
    if options.command == "unregister" and options.id is None:
        reader.error("missing required argument --id")
    with connect(options) as cluster:
        if options.command == "cluster-id":
            print(f"Cluster ID: {cluster.brokers().cluster_id}")
        elif options.command == "unregister":
            answer = cluster.call("unregister_broker", UnregisterBrokerRequest(broker_id=options.id))
            check(answer.error_code, answer.error_message)
            print(f"Broker {options.id} is no longer registered.")
        else:
            _list_endpoints(cluster, fenced_too=options.include_fenced_brokers)
    return 0


def _list_endpoints(cluster: Cluster, *, fenced_too: bool) -> None:
    answer = cluster.call("describe_cluster", DescribeClusterRequest(include_fenced_brokers=fenced_too))
    check(answer.error_code, answer.error_message)
    width = max([9, *(len(broker.host) for broker in answer.brokers)])
    line = f"{{:<10}} {{:<{width}}} {{:<10}} {{:<10}} {{:<10}} {{:<15}}"
    print(line.format("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"))
    for broker in sorted(answer.brokers, key=lambda each: int(each.broker_id)):
        state = "fenced" if broker.is_fenced else "unfenced"
        row = (broker.broker_id, broker.host, broker.port, broker.rack or "null", state, "broker")
        print(line.format(*row))
