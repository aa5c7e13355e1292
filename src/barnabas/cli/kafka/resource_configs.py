"""DescribeConfigs and IncrementalAlterConfigs for the commands: settings of topics, brokers and other resources."""

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.cli.wire_client import Cluster, check
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32

DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER = 1, 2, 3
SOURCES = {
    0: "UNKNOWN",
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}

_SET, _DELETE = 0, 1


def describe_resources(cluster: Cluster, kind: int, names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """All settings of each, with the places they may come from."""
    resources = tuple(
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None) for name in names
    )
    request = DescribeConfigsRequest(resources=resources, include_synonyms=True)
    answer = cluster.call("describe_configs", request, node=_node(kind, names))
    for result in answer.results:
        check(result.error_code, result.error_message)
    return {result.resource_name: result.configs for result in answer.results}


def alter_resource(
    cluster: Cluster, kind: int, name: str, changes: Mapping[str, str], deletions: Sequence[str]
) -> None:
    configs = [AlterableConfig(name=key, value=value, config_operation=_SET) for key, value in changes.items()]
    configs += [AlterableConfig(name=key, value=None, config_operation=_DELETE) for key in deletions]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=tuple(configs))
    request = IncrementalAlterConfigsRequest(resources=(resource,))
    for result in cluster.call("incremental_alter_configs", request, node=_node(kind, [name])).responses:
        check(result.error_code, result.error_message)


def list_resources(cluster: Cluster, kind: int) -> list[str]:
    """Those that have settings of their own; topics and brokers in any case."""
    answer = cluster.call("list_config_resources", ListConfigResourcesRequest(resource_types=(kind,)))
    check(answer.error_code)
    return sorted(each.resource_name for each in answer.config_resources if each.resource_type == kind)


def _node(kind: int, names: Sequence[str]) -> int | None:
    """A broker knows its own settings only; any broker knows the rest."""
    if kind in (BROKER, BROKER_LOGGER) and len(names) == 1 and names[0].isdecimal():
        return int(names[0])
    return None
