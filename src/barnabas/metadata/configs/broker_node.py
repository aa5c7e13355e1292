"""Broker configs of the node itself: who it is, where it listens, its topics' shape, its metadata log."""

from typing import Final

from barnabas.metadata.configs.definition import (
    INT_MAX,
    AtLeast,
    ConfigDef,
    ConfigType,
    Effect,
    Importance,
    OneOf,
    Update,
)

BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
LONG, DOUBLE, LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


def one_voter(voters: tuple[str, ...]) -> str | None:
    return None if len(voters) <= 1 else "This broker is a quorum of one: name no other voters"


def buffer_bytes(value: int) -> str | None:
    return None if value == -1 or value > 0 else "Value must be at least 1, or -1 for the operating system's default"


_IDENTITY: Final = (
    ConfigDef(
        "broker.id", INT, "-1", "The older name of node.id; where both are given they must agree.", importance=HIGH
    ),
    ConfigDef(
        "broker.rack", STRING, None, "Where the broker stands, shown to clients that read from the nearest replica."
    ),
    ConfigDef(
        "controller.quorum.voters",
        LIST,
        "",
        "The metadata quorum's voters as id@host:port.",
        one_voter,
        HIGH,
        effect=Effect.ACCEPTED,
    ),
    ConfigDef("node.id", INT, "1", "The number of this node in the cluster.", AtLeast(0), HIGH),
    ConfigDef(
        "process.roles",
        LIST,
        "broker,controller",
        "What this process is: a broker and a controller in one.",
        OneOf("broker", "controller"),
        HIGH,
    ),
)

_TOPICS: Final = (
    ConfigDef(
        "auto.create.topics.enable",
        BOOLEAN,
        "true",
        "Whether a topic is made when a client first asks for it by name.",
        importance=HIGH,
    ),
    ConfigDef(
        "default.replication.factor",
        INT,
        "1",
        "The replication factor of topics created without one.",
        AtLeast(1),
    ),
    ConfigDef("delete.topic.enable", BOOLEAN, "true", "Whether clients may delete topics.", importance=HIGH),
    ConfigDef("num.partitions", INT, "1", "The number of partitions of topics created without one.", AtLeast(1)),
)

_HISTORY: Final = (
    ConfigDef(
        "barnabas.archive.dir",
        STRING,
        None,
        "Where the histories of topics with barnabas.archive.enable are kept, as Parquet files; not one of Kafka's.",
        shown_only_if_set=True,
    ),
)

_METADATA: Final = (
    ConfigDef(
        "metadata.log.dir",
        STRING,
        None,
        "Where the cluster's metadata log lives; the first log directory when not set.",
        importance=HIGH,
    ),
    ConfigDef(
        "metadata.log.max.record.bytes.between.snapshots",
        LONG,
        "20971520",
        "How many bytes of metadata records may gather before a snapshot is made.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "metadata.log.max.snapshot.interval.ms",
        LONG,
        "3600000",
        "How long uncovered metadata records may wait for a snapshot; 0 sets no time.",
        AtLeast(0),
        HIGH,
        effect=Effect.ACCEPTED,
    ),
    ConfigDef(
        "metadata.log.segment.bytes",
        INT,
        "1073741824",
        "The segment size of the metadata log.",
        AtLeast(8 * 1024 * 1024),
        HIGH,
    ),
    ConfigDef("metadata.log.segment.ms", LONG, "604800000", "The segment age of the metadata log.", importance=HIGH),
    ConfigDef(
        "metadata.max.retention.bytes",
        LONG,
        "104857600",
        "How large metadata log and snapshots may grow before old ones go.",
        importance=HIGH,
        effect=Effect.ACCEPTED,
    ),
    ConfigDef(
        "metadata.max.retention.ms",
        LONG,
        "604800000",
        "How long old metadata segments and snapshots are kept.",
        importance=HIGH,
        effect=Effect.ACCEPTED,
    ),
)

_NETWORK: Final = (
    ConfigDef(
        "advertised.listeners",
        LIST,
        None,
        "The addresses clients are told to connect to, where they differ from listeners.",
        importance=HIGH,
    ),
    ConfigDef(
        "connections.max.idle.ms",
        LONG,
        "600000",
        "How long a connection may stay silent before it is closed; negative closes none.",
    ),
    ConfigDef(
        "fetch.max.bytes",
        INT,
        "57671680",
        "The most bytes one fetch answer carries, whatever the client asks for.",
        AtLeast(1024),
    ),
    ConfigDef(
        "listener.security.protocol.map",
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "Which security protocol each listener name speaks.",
        importance=LOW,
    ),
    ConfigDef(
        "listeners",
        LIST,
        "PLAINTEXT://:9092",
        "The addresses to listen on, as NAME://host:port; an empty host is every interface.",
        importance=HIGH,
    ),
    ConfigDef(
        "max.connection.creation.rate",
        INT,
        INT_MAX,
        "How many connections are taken per second; more have to wait.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "max.connections",
        INT,
        INT_MAX,
        "How many connections may be open at once.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "max.connections.per.ip",
        INT,
        INT_MAX,
        "How many connections one address may hold.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "max.connections.per.ip.overrides",
        STRING,
        "",
        "Other bounds for single addresses, as host:count pairs.",
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "max.incremental.fetch.session.cache.slots",
        INT,
        "1000",
        "How many fetch sessions are kept.",
        AtLeast(0),
    ),
    ConfigDef(
        "max.request.partition.size.limit",
        INT,
        "2000",
        "The most partitions one DescribeTopicPartitions answer names.",
        AtLeast(1),
    ),
    ConfigDef(
        "queued.max.request.bytes",
        LONG,
        "-1",
        "How many bytes large requests that have not arrived in full may take, of all connections; -1 sets no bound.",
    ),
    ConfigDef(
        "queued.max.requests",
        INT,
        "128",
        "How many requests of a connection may wait for their answers before reading pauses.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef("socket.listen.backlog.size", INT, "1024", "How many connections may wait to be taken.", AtLeast(1)),
    ConfigDef(
        "socket.receive.buffer.bytes",
        INT,
        "-1",
        "The sockets' receive buffer; -1 leaves the system's.",
        buffer_bytes,
        HIGH,
    ),
    ConfigDef("socket.request.max.bytes", INT, "104857600", "The largest request that is read.", AtLeast(1), HIGH),
    ConfigDef(
        "socket.send.buffer.bytes",
        INT,
        "-1",
        "The sockets' send buffer; -1 leaves the system's.",
        buffer_bytes,
        HIGH,
    ),
)

DEFINITIONS: Final = _IDENTITY + _TOPICS + _HISTORY + _METADATA + _NETWORK
