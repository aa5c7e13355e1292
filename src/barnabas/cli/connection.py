"""Connections with confluent-kafka, for the client commands; its errors become failures of the command."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from barnabas.cli.errors import CommandFailed, suggestion
from barnabas.cli.interruptible import interruptible
from barnabas.cli.librdkafka import to_librdkafka
from barnabas.cli.reachability import check_reachable

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka import Consumer, KafkaError, Producer, ShareConsumer
    from confluent_kafka.admin import AdminClient, ClusterMetadata, TopicMetadata

    from barnabas.cli.cluster_access import ClusterAccess

T = TypeVar("T")

REQUEST_TIMEOUT_S = 15.0

_UNKNOWN_SETTING = 'No such configuration property: "'


class Connection:
    """One cluster, reached through `servers`; makes clients with the settings that all of them share."""

    def __init__(
        self, servers: str, properties: Mapping[str, str], *, profile: Mapping[str, str] | None = None
    ) -> None:
        """`properties` win over what a command sets, and that over `profile`. Names are Java's or librdkafka's."""
        try:
            import confluent_kafka  # noqa: F401  # only to see whether it is installed
        except ImportError as error:
            raise CommandFailed(
                "this command is a Kafka client and needs the package confluent-kafka",
                hint="run pip install 'barnabas[client]'",
            ) from error
        self.servers = servers
        self._profile = to_librdkafka(profile or {})
        self._fixed: dict[str, object] = {
            "bootstrap.servers": servers,
            "client.id": f"barnabas-cli-{os.getpid()}",
            "log_level": 0,  # errors are reported to us anyway
            **to_librdkafka(properties),
        }
        check_reachable(servers)

    @classmethod
    def to(cls, access: "ClusterAccess") -> Self:
        return cls(access.servers, access.overrides, profile=access.profile)

    def admin(self) -> "AdminClient":
        from confluent_kafka.admin import AdminClient

        return self._make(AdminClient, {})

    def producer(self, config: Mapping[str, object]) -> "Producer":
        from confluent_kafka import Producer

        return self._make(Producer, config)

    def consumer(self, config: Mapping[str, object]) -> "Consumer":
        from confluent_kafka import Consumer

        return self._make(Consumer, config)

    def share_consumer(self, config: Mapping[str, object]) -> "ShareConsumer":
        from confluent_kafka import ShareConsumer

        return self._make(ShareConsumer, config)

    def _make(self, client: Callable[[dict[str, object]], T], config: Mapping[str, object]) -> T:
        from confluent_kafka import KafkaException

        while True:
            try:
                return client({**self._profile, **config, **self._fixed})
            except KafkaException as error:
                # A profile may have any setting of the Java client; ignore those that librdkafka does not know.
                unknown = str(error.args[0].str()).partition(_UNKNOWN_SETTING)[2].rstrip('"')
                if self._profile.pop(unknown, None) is None:
                    raise failure(error.args[0]) from error

    def metadata(self, admin: "AdminClient") -> "ClusterMetadata":
        from confluent_kafka import KafkaException

        try:
            return interruptible(lambda: admin.list_topics(timeout=REQUEST_TIMEOUT_S))
        except KafkaException as error:
            raise CommandFailed(
                f"{self.servers} accepts connections but gives no answer to Kafka requests",
                hint="check that it is a Kafka listener; if it wants TLS or a login, give those with --profile or -X",
            ) from error

    def existing_topics(self, admin: "AdminClient", names: Sequence[str]) -> "list[TopicMetadata]":
        """Each topic's metadata, in the order asked for."""
        topics = self.metadata(admin).topics
        for name in names:
            if name not in topics:
                raise unknown_topic(name, list(topics))
        return [topics[name] for name in names]


def result_of(future: "Future[T]") -> T:
    """The result of an admin request; CommandFailed if it failed."""
    from confluent_kafka import KafkaException

    try:
        return future.result()
    except KafkaException as error:
        raise failure(error.args[0]) from error
    except ValueError as error:  # librdkafka's own checks of a request
        raise CommandFailed(str(error)) from error


def check(error: "KafkaError") -> None:
    """Raise if it lasts. Negative codes are librdkafka's own, such as a lost connection, after which it reconnects."""
    if error.fatal() or error.code() > 0:
        raise failure(error)


def failure(error: "KafkaError") -> CommandFailed:
    """The broker's message, and what to do next if that is known."""
    message = str(error.str() or error.name()).removeprefix("Broker: ").removeprefix("Local: ")
    return CommandFailed(
        message[:1].lower() + message[1:] if message[1:2].islower() else message, hint=_HINTS.get(error.name(), "")
    )


def unknown_topic(name: str, known: Sequence[str]) -> CommandFailed:
    see = f"run barnabas topic list to see the topics, or barnabas topic create {name}"
    return CommandFailed(f"there is no topic {name}", hint=suggestion(name, known, see))


_HINTS = {
    "MSG_SIZE_TOO_LARGE": "raise both limits: -X message.max.bytes=N here, max.message.bytes=N on the topic",
    "UNKNOWN_TOPIC_OR_PART": "run barnabas topic list to see the topics",
    "TOPIC_EXCEPTION": "a name has at most 249 letters, digits, dots, underscores and hyphens",
    "TOPIC_ALREADY_EXISTS": "with --if-not-exists an existing topic is left as it is",
    "NON_EMPTY_GROUP": "the group still has members: stop its consumers first",
    "GROUP_ID_NOT_FOUND": "run barnabas group list to see the groups",
    "UNKNOWN_MEMBER_ID": "the group still has members: stop its consumers first",
    "INVALID_CONFIG": "run barnabas config get --topic NAME --all to see names and values",
    "INVALID_PARTITIONS": "partitions can be added, never removed",
    "INVALID_REPLICATION_FACTOR": "there are fewer brokers than replicas: give --replication-factor 1",
    "_INVALID_ARG": "check what is given with -X: librdkafka's CONFIGURATION.md has all names and values",
    "_TIMED_OUT": "the broker did not answer in time: it may be overloaded or behind a firewall",
    "_TRANSPORT": "check that the broker runs, and its log",
}
