"""Decides AlterConfigs and IncrementalAlterConfigs requests, for topics, brokers, groups and client metrics.

All changes of a resource are applied, or none. AlterConfigs, the older request, replaces all configs of a resource.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from barnabas.controller.decisions.decision import Decision, Outcome, check_record_count
from barnabas.controller.decisions.elr_safety import MIN_INSYNC_REPLICAS
from barnabas.controller.decisions.topic_names import why_invalid
from barnabas.metadata.configs import (
    TOPIC_CONFIGS,
    BrokerConfigs,
    ConfigDef,
    ConfigType,
    find_broker_config,
    validate_dynamic_broker_configs,
    validate_topic_configs,
)
from barnabas.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from barnabas.metadata.image import BROKER, CLIENT_METRICS, GROUP, TOPIC, ClusterImage
from barnabas.metadata.records import ConfigRecord
from barnabas.wire.errors import (
    InvalidConfig,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    UnknownTopicOrPartition,
)
from barnabas.wire.messages import alter_configs, incremental_alter_configs

SET, DELETE, APPEND, SUBTRACT = range(4)
_OPERATIONS: Final = {SET: "SET", DELETE: "DELETE", APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


class Operation(NamedTuple):
    name: str
    operation: int
    value: str | None


class _Resource(NamedTuple):
    type: int
    name: str


Change = tuple[_Resource, list[Operation]]


def decide_incremental_alter_configs(
    image: ClusterImage,
    request: incremental_alter_configs.IncrementalAlterConfigsRequest,
    *,
    configs: BrokerConfigs,
) -> Decision[list[Outcome]]:
    changes = [
        (
            _Resource(resource.resource_type, resource.resource_name),
            [Operation(config.name, config.config_operation, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    return _decide(image, changes, configs, replace=False, validate_only=request.validate_only)


def decide_alter_configs(
    image: ClusterImage, request: alter_configs.AlterConfigsRequest, *, configs: BrokerConfigs
) -> Decision[list[Outcome]]:
    changes = [
        (
            _Resource(resource.resource_type, resource.resource_name),
            [Operation(config.name, SET, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    return _decide(image, changes, configs, replace=True, validate_only=request.validate_only)


def _decide(
    image: ClusterImage, changes: list[Change], configs: BrokerConfigs, *, replace: bool, validate_only: bool
) -> Decision[list[Outcome]]:
    """Returns the outcome of each resource."""
    records: list[ConfigRecord] = []
    outcomes: list[Outcome] = []
    occurrences = Counter(resource for resource, _ in changes)
    for resource, operations in changes:
        try:
            if occurrences[resource] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            check_operations(operations)
            _check_resource(image, resource)
            before = image.configs.of(*resource)
            after = _apply(resource, {} if replace else dict(before), operations)
            changed = {operation.name for operation in operations if operation.name in after}
            _validate(image, resource, changed, after, configs)
            differences = _differences(resource, before, after)
            check_record_count(len(records) + len(differences))
        except KafkaError as error:
            outcomes.append(error)
        else:
            records += differences
            outcomes.append(None)
    return Decision(() if validate_only else tuple(records), outcomes)


def _validate(
    image: ClusterImage, resource: _Resource, changed: set[str], after: Mapping[str, str], configs: BrokerConfigs
) -> None:
    if resource.type == TOPIC:
        validate_topic_configs(after, configs)
    elif resource.type == BROKER:
        validate_dynamic_broker_configs(changed, after, per_broker=resource.name != "")
        _check_elr(image, resource, after)
    elif resource.type == CLIENT_METRICS:
        from barnabas.metadata.configs.client_metrics import validate_client_metrics_configs

        validate_client_metrics_configs(resource.name, after)
    else:
        from barnabas.metadata.configs.group import validate_group_configs

        validate_group_configs(after, configs)


def _check_elr(image: ClusterImage, resource: _Resource, after: Mapping[str, str]) -> None:
    """With eligible leader replicas, `min.insync.replicas` is the same for all brokers (`elr_safety`)."""
    if not image.features.get(ELIGIBLE_LEADER_REPLICAS_VERSION):
        return
    if not resource.name and MIN_INSYNC_REPLICAS in image.configs.of(*resource) and MIN_INSYNC_REPLICAS not in after:
        raise InvalidConfig(f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled.")
    if resource.name and MIN_INSYNC_REPLICAS in after:
        raise InvalidConfig(f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled.")


def check_operations(operations: list[Operation]) -> None:
    if len({operation.name for operation in operations}) != len(operations):
        raise InvalidRequest("Error due to duplicate config keys")
    nulls = [operation.name for operation in operations if operation.value is None and operation.operation != DELETE]
    if nulls:
        raise InvalidRequest(f"Null value not supported for : {', '.join(nulls)}")
    for operation in operations:
        if operation.operation not in _OPERATIONS:
            raise InvalidRequest(f"Unknown operations type {operation.operation}")


def _check_resource(image: ClusterImage, resource: _Resource) -> None:
    if resource.type == TOPIC:
        if not resource.name:
            raise InvalidRequest("Default topic resources are not allowed.")
        if complaint := why_invalid(resource.name):
            raise InvalidTopic(complaint)
        if resource.name not in image.topics.by_name:
            raise UnknownTopicOrPartition(f"The topic '{resource.name}' does not exist.")
    elif resource.type == BROKER:
        if resource.name and not resource.name.lstrip("-").isdecimal():
            raise InvalidRequest(f"Node id must be an integer, but it is: {resource.name}")
        if resource.name and resource.name not in {str(broker_id) for broker_id in image.brokers}:
            raise InvalidRequest(f"Unexpected broker id: there is no broker {resource.name} in the cluster.")
    elif resource.type == GROUP:
        if not resource.name:
            raise InvalidRequest("Default group resources are not allowed.")
    elif resource.type == CLIENT_METRICS:
        if not resource.name:
            raise InvalidRequest("Subscription name can't be empty")
    else:
        raise InvalidRequest(f"Unknown resource type {resource.type}")


def _apply(resource: _Resource, configs: dict[str, str], operations: list[Operation]) -> dict[str, str]:
    for name, operation, value in operations:
        if operation == DELETE:
            configs.pop(name, None)
        elif operation == SET:
            configs[name] = value or ""
        else:
            definition = _definition(resource, name)
            configs[name] = _altered_list(name, definition, configs.get(name), operation, value or "")
    return configs


def _definition(resource: _Resource, name: str) -> ConfigDef | None:
    if resource.type == TOPIC:
        return TOPIC_CONFIGS.get(name)
    if resource.type == BROKER:
        return find_broker_config(name)
    if resource.type == CLIENT_METRICS:
        from barnabas.metadata.configs.client_metrics import CLIENT_METRICS_CONFIGS

        return CLIENT_METRICS_CONFIGS.get(name)
    return None


def _altered_list(name: str, definition: ConfigDef | None, current: str | None, operation: int, value: str) -> str:
    if definition is None or definition.type is not ConfigType.LIST:
        raise InvalidConfig(f"Can't {_OPERATIONS[operation]} to key {name} because its type is not LIST.")
    items = _items(definition.default or "" if current is None else current)
    if operation == APPEND:
        return ",".join(dict.fromkeys(items + _items(value)))
    return ",".join(item for item in items if item not in _items(value))


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _differences(resource: _Resource, before: Mapping[str, str], after: Mapping[str, str]) -> list[ConfigRecord]:
    def record(name: str, value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)

    gone = [record(name, None) for name in before if name not in after]
    return gone + [record(name, value) for name, value in after.items() if before.get(name) != value]
