"""DescribeConfigs (1-4): every config of a resource, with its source, its synonyms and its meaning.

Resources are topics, this broker, its loggers, groups and client metrics subscriptions; the last two need not exist.
The broker resource named "" shows what was altered for all brokers.
"""

import re
from collections.abc import Iterable, Mapping

from barnabas.controller.decisions.topic_names import why_invalid
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster
from barnabas.metadata.configs import (
    ConfigDef,
    ConfigSource,
    ConfigType,
    EffectiveConfig,
    SourcedValue,
    effective_broker_config,
    effective_broker_configs,
    effective_topic_configs,
)
from barnabas.metadata.configs.effective import with_synonyms
from barnabas.metadata.image import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from barnabas.wire.errors import InvalidRequest, InvalidTopic, KafkaError, UnknownTopicOrPartition
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

PIECES = (Pieces("resources", answers="results", size=3),)


def handle(cluster: Cluster, context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=tuple(_describe(cluster, request, resource) for resource in request.resources)
    )


def _describe(
    cluster: Cluster, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    try:
        entries = _entries(cluster, resource)
    except KafkaError as error:
        return DescribeConfigsResult(
            error_code=error.code,
            error_message=str(error),
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
    wanted: Iterable[str] = entries
    if resource.configuration_keys:
        wanted = [name for name in dict.fromkeys(resource.configuration_keys) if name in entries]
    return DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=tuple(
            _config(name, entries[name], request, is_broker=resource.resource_type == BROKER) for name in wanted
        ),
    )


def _entries(cluster: Cluster, resource: DescribeConfigsResource) -> Mapping[str, EffectiveConfig]:
    name = resource.resource_name
    if resource.resource_type == BROKER_LOGGER:
        return _loggers(cluster, name)
    if resource.resource_type == CLIENT_METRICS:
        return _client_metrics(cluster, name)
    if resource.resource_type == GROUP:
        return _group(cluster, name)
    if resource.resource_type == TOPIC:
        if complaint := why_invalid(name):
            raise InvalidTopic(complaint)
        if name not in cluster.image.topics.by_name:
            raise UnknownTopicOrPartition(f"there is no topic {name}")
        return effective_topic_configs(cluster.image.configs.of(TOPIC, name), cluster.configs)
    if resource.resource_type == BROKER:
        if not name:
            return _altered_for_all(cluster)
        if _broker_id(name) != cluster.node_id:
            raise InvalidRequest(
                f"Unexpected broker id, expected {cluster.node_id} or empty string, but received {name}"
            )
        return effective_broker_configs(cluster.configs)
    raise InvalidRequest(f"Unsupported resource type {resource.resource_type}")


def _loggers(cluster: Cluster, name: str) -> dict[str, EffectiveConfig]:
    from barnabas.handlers.broker_loggers import describe_loggers

    if not name:
        raise InvalidRequest("Broker id must not be empty")
    if _broker_id(name) != cluster.node_id:
        raise InvalidRequest(f"Unexpected broker id, expected {cluster.node_id} but received {name}")
    return {
        logger: EffectiveConfig(
            ConfigDef(logger, ConfigType.UNKNOWN, None, ""), level, ConfigSource.DYNAMIC_BROKER_LOGGER, ()
        )
        for logger, level in describe_loggers().items()
    }


def _broker_id(name: str) -> int:
    if not re.fullmatch("[+-]?[0-9]{1,10}", name):
        raise InvalidRequest(f"Broker id must be an integer, but it is: {name}")
    return int(name)


def _client_metrics(cluster: Cluster, name: str) -> dict[str, EffectiveConfig]:
    from barnabas.metadata.configs.client_metrics import CLIENT_METRICS_CONFIGS

    if not name:
        raise InvalidRequest("Client metrics subscription name must not be empty")
    overrides = cluster.image.configs.of(CLIENT_METRICS, name)
    return {
        key: with_synonyms(definition, overrides, cluster.configs, ConfigSource.CLIENT_METRICS)
        for key, definition in CLIENT_METRICS_CONFIGS.items()
    }


def _group(cluster: Cluster, name: str) -> dict[str, EffectiveConfig]:
    from barnabas.metadata.configs.group import GROUP_CONFIGS

    if not name:
        raise InvalidRequest("Group name must not be empty")
    overrides = cluster.image.configs.of(GROUP, name)
    entries = {}
    for key, definition in GROUP_CONFIGS.items():
        entry = with_synonyms(definition, overrides, cluster.configs, ConfigSource.GROUP)
        if not definition.synonyms:  # it has no broker config to inherit from, only its own default
            default = SourcedValue(key, definition.default, ConfigSource.DEFAULT)
            entry = entry._replace(synonyms=(*entry.synonyms, default))
        entries[key] = entry
    return entries


def _altered_for_all(cluster: Cluster) -> dict[str, EffectiveConfig]:
    everyones = cluster.configs._replace(static={}, dynamic={})
    entries = {}
    for name in sorted(cluster.configs.dynamic_default):
        entry = effective_broker_config(name, everyones)
        altered = tuple(synonym for synonym in entry.synonyms if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER)
        entries[name] = entry._replace(synonyms=altered)
    return entries


def _config(
    name: str, entry: EffectiveConfig, request: DescribeConfigsRequest, *, is_broker: bool
) -> DescribeConfigsResourceResult:
    definition = entry.definition
    is_listeners_own = name != definition.name
    documentation: str | None = definition.documentation
    if is_listeners_own or not (request.include_documentation or entry.source is ConfigSource.DYNAMIC_BROKER_LOGGER):
        documentation = None
    return DescribeConfigsResourceResult(
        name=name,
        value=None if definition.is_sensitive else entry.value,
        read_only=is_broker and (is_listeners_own or not definition.is_dynamic),
        config_source=entry.source,
        is_sensitive=definition.is_sensitive,
        synonyms=tuple(
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in entry.synonyms
        )
        if request.include_synonyms
        else (),
        config_type=definition.type,
        documentation=documentation,
    )
