"""The way to a broker for the client commands: confluent-kafka, with its failures told as sentences.

librdkafka keeps trying a broker that is not there, so the commands knock first: a plain TCP connection that fails at
once says more than a timeout after seconds.
"""

import os
import socket
from collections.abc import Sequence
from concurrent.futures import Future
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from barnabas.cli.errors import CommandFailed
from barnabas.cli.pairs import parse_pairs

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer, ShareConsumer
    from confluent_kafka.admin import AdminClient, ClusterMetadata, TopicMetadata

T = TypeVar("T")

REQUEST_TIMEOUT_S = 15.0
KNOCK_TIMEOUT_S = 3.0


class Connection:
    """One cluster, reached through `servers`; makes clients with the settings that all of them share."""

    def __init__(self, servers: str, client_config: Sequence[str] | None) -> None:
        try:
            import confluent_kafka  # noqa: F401  # only to learn whether it is there
        except ImportError as error:
            raise CommandFailed(
                "this command is a Kafka client and needs the package confluent-kafka",
                hint="try: pip install 'barnabas[client]'",
            ) from error
        self.servers = servers
        self._config: dict[str, object] = {
            "bootstrap.servers": servers,
            "client.id": f"barnabas-cli-{os.getpid()}",
            "log_level": 0,  # what matters reaches us as errors
            **parse_pairs("--client-config", client_config),
        }
        knock(servers)

    def admin(self) -> "AdminClient":
        from confluent_kafka.admin import AdminClient

        return AdminClient(self._config)

    def producer(self, config: dict[str, object]) -> "Producer":
        from confluent_kafka import KafkaException, Producer

        try:
            return Producer({**config, **self._config})
        except KafkaException as error:
            raise failure(error.args[0]) from error

    def consumer(self, config: dict[str, object]) -> "Consumer":
        from confluent_kafka import Consumer, KafkaException

        try:
            return Consumer({**config, **self._config})
        except KafkaException as error:
            raise failure(error.args[0]) from error

    def share_consumer(self, config: dict[str, object]) -> "ShareConsumer":
        from confluent_kafka import KafkaException, ShareConsumer

        try:
            return ShareConsumer({**config, **self._config})
        except KafkaException as error:
            raise failure(error.args[0]) from error

    def metadata(self, admin: "AdminClient") -> "ClusterMetadata":
        from confluent_kafka import KafkaException

        try:
            return admin.list_topics(timeout=REQUEST_TIMEOUT_S)
        except KafkaException as error:
            raise CommandFailed(
                f"{self.servers} accepts connections but gives no answer to Kafka requests",
                hint="is it a Kafka listener, and does it want TLS or a login? try: -X security.protocol=SSL",
            ) from error

    def existing_topics(self, admin: "AdminClient", names: Sequence[str]) -> "list[TopicMetadata]":
        """Each topic's metadata, in the order asked for."""
        topics = self.metadata(admin).topics
        for name in names:
            if name not in topics:
                raise unknown_topic(name, list(topics))
        return [topics[name] for name in names]


def parse_address(server: str) -> tuple[str, int]:
    host, _, port = server.strip().rpartition(":")
    if not host:
        host, port = server.strip(), "9092"
    if not port.isdecimal():
        raise CommandFailed(f"{server!r} is not an address", hint="try: --bootstrap-server localhost:9092")
    return host.strip("[]"), int(port)


def knock(servers: str) -> None:
    """Return if any of the servers accepts a connection."""
    reason = "no address given"
    for server in servers.split(","):
        try:
            socket.create_connection(parse_address(server), timeout=KNOCK_TIMEOUT_S).close()
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            return
    raise CommandFailed(f"cannot reach {servers}: {reason}", hint="is the broker running? try: barnabas serve")


def result_of(future: "Future[T]") -> T:
    """What an admin request came to, or a sentence."""
    from confluent_kafka import KafkaException

    try:
        return future.result()
    except KafkaException as error:
        raise failure(error.args[0]) from error
    except ValueError as error:  # librdkafka's own checks of what it is asked to send
        raise CommandFailed(str(error)) from error


def failure(error: "KafkaError") -> CommandFailed:
    """The broker's words, and a next step where there is a usual one."""
    message = str(error.str() or error.name())
    return CommandFailed(
        message[:1].lower() + message[1:] if message[1:2].islower() else message, hint=_HINTS.get(error.name(), "")
    )


def unknown_topic(name: str, known: Sequence[str]) -> CommandFailed:
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return CommandFailed(
        f"there is no topic {name}", hint=f"{hint}try: barnabas topic list, or barnabas topic create {name}"
    )


_HINTS = {
    "MSG_SIZE_TOO_LARGE": "raise both limits: -X message.max.bytes=N here, max.message.bytes=N on the topic",
    "UNKNOWN_TOPIC_OR_PART": "try: barnabas topic list",
    "TOPIC_ALREADY_EXISTS": "try: barnabas topic describe NAME, or create with --if-not-exists",
    "NON_EMPTY_GROUP": "the group still has members: stop its consumers first",
    "GROUP_ID_NOT_FOUND": "try: barnabas group list",
    "UNKNOWN_MEMBER_ID": "the group still has members: stop its consumers first",
    "INVALID_PARTITIONS": "partitions can be added, never removed",
    "INVALID_REPLICATION_FACTOR": "there are fewer brokers than replicas asked for: try --replication-factor 1",
    "_TIMED_OUT": "the broker did not answer in time: is it overloaded or behind a firewall?",
    "_TRANSPORT": "is the broker running? try: barnabas serve",
}
