"""`barnabas cluster`: what the cluster is made of."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.apps import group_app
from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.connected import connected
from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import print_json, print_table

if TYPE_CHECKING:
    from barnabas.cli.wire_client import Cluster

app = group_app("cluster")


@app.command()
@connected
def describe(
    api_versions: Annotated[
        bool, typer.Option("--api-versions", help="Also show the API versions of each broker.")
    ] = False,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Show the cluster's id, controller, brokers, features and log directories."""
    from barnabas.cli.wire_client import Cluster

    with Cluster.to(access) as connection:
        described = _description(connection)
    if output_format is Format.json:
        print_json(described)
        return
    print(f"Cluster {described['cluster_id']}, controller {described['controller']}\n", flush=True)
    print_table(described["brokers"], ["broker", "host", "port", "rack", "state"])
    print(flush=True)
    print_table(described["log_dirs"], ["broker", "path", "partitions", "bytes", "free_bytes", "state"])
    if described["features"]:
        print(flush=True)
        print_table(described["features"], ["feature", "level", "min", "max"])
    if api_versions:
        print(flush=True)
        print_table(described["api_versions"], ["broker", "key", "api", "min", "max"])


def _description(connection: "Cluster") -> dict[str, Any]:
    answer = connection.brokers()
    ids = sorted(broker.broker_id for broker in answer.brokers)
    return {
        "cluster_id": answer.cluster_id,
        "controller": answer.controller_id,
        "brokers": [
            {
                "broker": broker.broker_id,
                "host": broker.host,
                "port": broker.port,
                "rack": broker.rack,
                "state": "fenced" if broker.is_fenced else "alive",
            }
            for broker in sorted(answer.brokers, key=lambda broker: int(broker.broker_id))
        ],
        "features": _features(connection.api_versions(ids[0])) if ids else [],
        "log_dirs": [row for broker in ids for row in _log_dirs(connection, broker)],
        "api_versions": [row for broker in ids for row in _api_versions(connection, broker)],
    }


def _features(answer: Any) -> list[dict[str, object]]:
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    return [
        {
            "feature": feature.name,
            "level": levels.get(feature.name, 0),
            "min": feature.min_version,
            "max": feature.max_version,
        }
        for feature in sorted(answer.supported_features, key=lambda feature: str(feature.name))
    ]


def _log_dirs(connection: "Cluster", broker: int) -> list[dict[str, object]]:
    from barnabas.wire.errors import ErrorCode
    from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest

    answer = connection.call("describe_log_dirs", DescribeLogDirsRequest(topics=None), node=broker)
    return [
        {
            "broker": broker,
            "path": found.log_dir,
            "partitions": sum(len(topic.partitions) for topic in found.topics),
            "bytes": sum(partition.partition_size for topic in found.topics for partition in topic.partitions),
            "free_bytes": found.usable_bytes if found.usable_bytes >= 0 else None,
            "total_bytes": found.total_bytes if found.total_bytes >= 0 else None,
            "state": "online" if found.error_code == ErrorCode.none else found.error_code.name.lower(),
        }
        for found in answer.results
    ]


def _api_versions(connection: "Cluster", broker: int) -> list[dict[str, object]]:
    from barnabas.cli.kafka.client_apis import CLIENT_APIS

    names = {key: name for key, name, _, _ in CLIENT_APIS}
    return [
        {
            "broker": broker,
            "key": found.api_key,
            "api": names.get(found.api_key, "unknown"),
            "min": found.min_version,
            "max": found.max_version,
        }
        for found in sorted(connection.api_versions(broker).api_keys, key=lambda key: int(key.api_key))
    ]
