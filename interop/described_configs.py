"""DescribeConfigs asked of two servers, and the answers compared field by field."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.testing.client import Client
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


class Resource(NamedTuple):
    kind: int
    name: str
    keys: tuple[str, ...] | None = None
    """Of the configs that are asked for; None: all of them."""


class Flavour(NamedTuple):
    version: int
    synonyms: bool
    documentation: bool


FLAVOURS: Final = [
    Flavour(1, synonyms=False, documentation=False),
    Flavour(2, synonyms=True, documentation=False),
    Flavour(3, synonyms=True, documentation=True),
    Flavour(4, synonyms=True, documentation=True),
    Flavour(4, synonyms=False, documentation=False),
]
"""Documentation and types came with version 3."""


class Difference(NamedTuple):
    name: str
    """Of the config; empty: of the resource itself."""
    field: str
    theirs: object
    ours: object


def ask(client: Client, resource: Resource, flavour: Flavour) -> DescribeConfigsResult:
    wanted = DescribeConfigsResource(
        resource_type=resource.kind, resource_name=resource.name, configuration_keys=resource.keys
    )
    request = DescribeConfigsRequest(
        resources=(wanted,), include_synonyms=flavour.synonyms, include_documentation=flavour.documentation
    )
    result: DescribeConfigsResult
    (result,) = client.call("describe_configs", flavour.version, request).results
    return result


def differences(theirs: DescribeConfigsResult, ours: DescribeConfigsResult) -> Iterator[Difference]:
    """The order of configs is that of a hash map in Kafka, and alphabetical here: it is not looked at."""
    for field in ("error_code", "error_message", "resource_type", "resource_name"):
        if getattr(theirs, field) != getattr(ours, field):
            yield Difference("", field, getattr(theirs, field), getattr(ours, field))
    their_configs = {config.name: config for config in theirs.configs}
    our_configs = {config.name: config for config in ours.configs}
    for name in sorted(their_configs.keys() | our_configs.keys()):
        if name not in their_configs or name not in our_configs:
            yield Difference(name, "described", name in their_configs, name in our_configs)
            continue
        their_fields, our_fields = _fields(their_configs[name]), _fields(our_configs[name])
        for field, value in their_fields.items():
            if value != our_fields[field]:
                yield Difference(name, field, value, our_fields[field])


def _fields(config: DescribeConfigsResourceResult) -> dict[str, object]:
    """All there is, but for the words of the documentation: ours are our own."""
    return {
        "value": config.value,
        "read_only": config.read_only,
        "source": config.config_source,
        "sensitive": config.is_sensitive,
        "synonyms": [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms],
        "type": config.config_type,
        "documented": config.documentation is not None,
    }
