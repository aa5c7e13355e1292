"""The options `kafka.*`: which are passed to the client, which are refused and why.

A property that this client does not use is accepted, as in Kafka's own clients: the same options must work with the
JVM connector. One that looks like a misspelling is refused.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.client.property_names import unknown
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import KAFKA_PREFIX

if TYPE_CHECKING:
    from barnabas.client.settings import ClientSettings

_log = logging.getLogger(__name__)

_BYTES = "keys and values are bytes here; convert columns with Spark, like CAST(value AS STRING) or from_json"

_REFUSED_IN_SOURCE = {
    "auto.offset.reset": "say where to start with startingOffsets (earliest, latest or JSON); a query that is started "
    "again continues from its checkpoint",
    "enable.auto.commit": "remove it; Spark's checkpoint holds the position, and with kafka.group.id every finished "
    "batch is committed to that group",
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "interceptor.classes": "remove it; an interceptor is Java code that may change records on their way",
}

_REFUSED_IN_SINK = {
    "key.serializer": _BYTES,
    "value.serializer": _BYTES,
    "interceptor.classes": "remove it; an interceptor is Java code that may change records on their way",
}


def source_properties(options: Mapping[str, str]) -> dict[str, str]:
    return _properties(options, _REFUSED_IN_SOURCE)


def sink_properties(options: Mapping[str, str]) -> dict[str, str]:
    return _properties(options, _REFUSED_IN_SINK)


def client_of(properties: Mapping[str, str]) -> "ClientSettings":
    """How to reach the brokers. Imported late: Spark imports this package just to find the data source."""
    from barnabas.client.properties import client_settings

    with readable_options():
        return client_settings(properties)


@contextmanager
def readable_options() -> Iterator[None]:
    """Name a property that cannot be used as the user wrote it."""
    from barnabas.client.errors import BadProperty

    try:
        yield
    except BadProperty as problem:
        raise UserError(f"The option kafka.{problem.name} cannot be used: {problem.problem}.", problem.hint) from None


def _properties(options: Mapping[str, str], refused: Mapping[str, str]) -> dict[str, str]:
    properties = {
        name.lower().removeprefix(KAFKA_PREFIX): value
        for name, value in options.items()
        if name.lower().startswith(KAFKA_PREFIX)
    }
    for name in sorted(properties):
        if name in refused:
            raise UserError(f"The option kafka.{name} is not supported.", refused[name])
    for name, meant in unknown(sorted(properties)).items():
        if meant is not None:
            raise UserError(f"There is no option kafka.{name}.", f"did you mean kafka.{meant}?")
        _log.warning("The option kafka.%s is not known and has no effect: remove it, or correct its name.", name)
    if not properties.get("bootstrap.servers", "").strip():
        raise UserError(
            "The option kafka.bootstrap.servers is missing, so there is no broker to connect to.",
            'give the address of one or several, for example option("kafka.bootstrap.servers", "localhost:9092")',
        )
    return properties
