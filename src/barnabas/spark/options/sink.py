"""The options of a write: those of Spark's Kafka connector, and `exactlyOnce`, which it does not have.

`topic` names the topic of all rows; without it, the column `topic` names that of each. `exactlyOnceId` is a prefix of
the query's transactional ids, for when ACLs do not allow the default. `txnAppId` and `txnVersion` identify a batch
write, so that it can be repeated safely; the names are Delta's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from barnabas.spark.errors import UserError
from barnabas.spark.options.kafka import client_of, sink_properties
from barnabas.spark.options.names import check_sink_names
from barnabas.spark.options.values import Values

if TYPE_CHECKING:
    from barnabas.client.settings import ClientSettings

Partitioner = Literal["murmur2", "crc32", "consistent", "sticky", "round-robin", "random"]
"""`murmur2` is what Kafka's Java clients do with keys; `crc32` is what librdkafka does, and calls `consistent`, too."""

_JAVA_PARTITIONERS: Mapping[str, Partitioner] = {
    "org.apache.kafka.clients.producer.internals.defaultpartitioner": "murmur2",
    "org.apache.kafka.clients.producer.roundrobinpartitioner": "round-robin",
    "org.apache.kafka.clients.producer.uniformstickypartitioner": "sticky",
}
"""Kafka's own, by the name of their class; others are Java code that cannot run here."""

_APP_ID = re.compile(r"[A-Za-z0-9._-]{1,200}")
"""It becomes part of transactional ids and of a group's name, between separators that it must not contain."""


@dataclass(frozen=True)
class NumberedWrite:
    """The identity of a batch write that can be repeated."""

    app_id: str
    version: int


@dataclass(frozen=True)
class SinkOptions:
    """The checked options of a write. Can be pickled: they go to every task."""

    topic: str | None
    """For all rows; None: the column `topic` names it."""
    properties: Mapping[str, str]
    """`kafka.*`, without the prefix."""
    exactly_once: bool
    exactly_once_id: str | None
    partitioner: Partitioner
    numbered: NumberedWrite | None = None
    """Of a batch write; None: it has no number, so each write is a new one."""

    def client(self) -> "ClientSettings":
        """How to reach the brokers."""
        # A producer has no default.api.timeout.ms: how long its calls may take is called max.block.ms.
        patience = self.properties.get("max.block.ms")
        named = {"default.api.timeout.ms": patience} if patience is not None else {}
        return client_of({**named, **self.properties})


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    values = Values(options)
    check_sink_names(options)
    properties = sink_properties(options)
    exactly_once = values.boolean("exactlyOnce", False)
    if values.has("exactlyOnceId") and not exactly_once:
        raise UserError("The option exactlyOnceId is set, but exactlyOnce is not.", 'add option("exactlyOnce", "true")')
    if exactly_once:
        _check_exactly_once(properties)
    topic = values.text("topic")
    if topic == "":
        raise UserError("The option topic is empty.", "name a topic, or remove the option and have a column topic")
    return SinkOptions(
        topic=topic,
        properties=properties,
        exactly_once=exactly_once,
        exactly_once_id=values.text("exactlyOnceId") or None,
        partitioner=_partitioner(values, properties),
        numbered=_numbered(values, exactly_once=exactly_once),
    )


def _numbered(values: Values, *, exactly_once: bool) -> NumberedWrite | None:
    app_id, version = values.text("txnAppId"), values.integer("txnVersion", at_least=0)
    if app_id is None and version is None:
        return None
    if app_id is None or version is None:
        missing, there = ("txnAppId", "txnVersion") if app_id is None else ("txnVersion", "txnAppId")
        raise UserError(
            f"The option {there} is set, but {missing} is not.",
            "in foreachBatch, give both: txnAppId, a name that stays as long as the checkpoint, and txnVersion, the "
            "number of the batch",
        )
    if not exactly_once:
        raise UserError("The option txnAppId is set, but exactlyOnce is not.", 'add option("exactlyOnce", "true")')
    if not _APP_ID.fullmatch(app_id):
        raise UserError(
            f"The option txnAppId is {app_id!r}.", "use at most 200 letters, digits, dots, underscores and hyphens"
        )
    return NumberedWrite(app_id, version)


def _check_exactly_once(properties: Mapping[str, str]) -> None:
    if "transactional.id" in properties:
        raise UserError(
            "With exactlyOnce every task has its own transactional id, so kafka.transactional.id cannot be set.",
            "remove it, and choose the prefix of these ids with exactlyOnceId",
        )
    if properties.get("enable.idempotence", "true").lower() == "false":
        raise UserError("exactlyOnce needs an idempotent producer.", "remove kafka.enable.idempotence")
    if properties.get("acks", "all").lower() not in ("all", "-1"):
        raise UserError("exactlyOnce needs the acknowledgement of all replicas.", "remove kafka.acks, or set it to all")


def _partitioner(values: Values, properties: Mapping[str, str]) -> Partitioner:
    text = values.text("partitioner")
    for known in get_args(Partitioner):
        if text is not None and text.lower() == known:
            found: Partitioner = known
            return found
    if text is not None:
        raise UserError(f"There is no partitioner {text!r}.", f"choose one of {', '.join(get_args(Partitioner))}")
    java = properties.get("partitioner.class")
    if not java:
        return "sticky" if properties.get("partitioner.ignore.keys", "").lower() == "true" else "murmur2"
    if java.lower() not in _JAVA_PARTITIONERS:
        raise UserError(
            f"The option kafka.partitioner.class names {java}, which is Java code and cannot run here.",
            f"use the option partitioner ({', '.join(get_args(Partitioner))}), or have a column partition",
        )
    return _JAVA_PARTITIONERS[java.lower()]
