"""DescribeConfigs (1-4): every config of a topic or of this broker, with its source, its synonyms and its meaning.

The broker resource named "" shows what was altered for all brokers. Broker loggers, client metrics and groups are
refused with INVALID_REQUEST. Synonyms of retention.ms and its kind are shown where Kafka hides them.
"""

from collections.abc import Iterable, Mapping

from barnabas.controller.topic_names import why_invalid
from barnabas.handlers.context import Broker, RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.metadata.configs import (
    ConfigSource,
    EffectiveConfig,
    effective_broker_config,
    effective_broker_configs,
    effective_topic_configs,
)
from barnabas.metadata.image import BROKER, TOPIC
from barnabas.wire.errors import InvalidRequest, InvalidTopic, KafkaError, UnknownTopicOrPartition
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_UNSERVED_RESOURCES = {
    8: "Log levels of a running broker can't be described",
    16: "Client metrics subscriptions are not supported yet",
    32: "Group configs are not supported yet",
}

PIECES = (Pieces("resources", answers="results", size=3),)


def handle(context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=tuple(_describe(context.broker, request, resource) for resource in request.resources)
    )


def _describe(
    broker: Broker, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    try:
        entries = _entries(broker, resource)
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
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=tuple(
            _config(name, entries[name], request, is_topic=resource.resource_type == TOPIC) for name in wanted
        ),
    )


def _entries(broker: Broker, resource: DescribeConfigsResource) -> Mapping[str, EffectiveConfig]:
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        if complaint := why_invalid(name):
            raise InvalidTopic(complaint)
        if name not in broker.image.topics.by_name:
            raise UnknownTopicOrPartition(f"there is no topic {name}")
        return effective_topic_configs(broker.image.configs.of(TOPIC, name), broker.configs)
    if resource.resource_type == BROKER:
        if not name:
            return _altered_for_all(broker)
        if name != str(broker.node_id):
            raise InvalidRequest(
                f"Unexpected broker id, expected {broker.node_id} or empty string, but received {name}"
            )
        return effective_broker_configs(broker.configs)
    raise InvalidRequest(_UNSERVED_RESOURCES.get(resource.resource_type, "Unsupported resource type"))


def _altered_for_all(broker: Broker) -> dict[str, EffectiveConfig]:
    everyones = broker.configs._replace(static={}, dynamic={})
    entries = {}
    for name in sorted(broker.configs.dynamic_default):
        entry = effective_broker_config(name, everyones)
        altered = tuple(synonym for synonym in entry.synonyms if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER)
        entries[name] = entry._replace(synonyms=altered)
    return entries


def _config(
    name: str, entry: EffectiveConfig, request: DescribeConfigsRequest, *, is_topic: bool
) -> DescribeConfigsResourceResult:
    definition = entry.definition
    return DescribeConfigsResourceResult(
        name=name,
        value=None if definition.is_sensitive else entry.value,
        read_only=not is_topic and not definition.is_dynamic,
        config_source=entry.source,
        is_sensitive=definition.is_sensitive,
        synonyms=tuple(
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in entry.synonyms
        )
        if request.include_synonyms
        else (),
        config_type=definition.type,
        documentation=definition.documentation if request.include_documentation else None,
    )
