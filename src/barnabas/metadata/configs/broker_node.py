"""Broker configs of the node: its id, listeners and connections, defaults of new topics, the metadata log."""

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
        "broker.id", INT, "-1", "The older name of node.id; if both are set, they must be equal.", importance=HIGH
    ),
    ConfigDef("broker.rack", STRING, None, "The rack of the broker, for clients that read from the nearest replica."),
    ConfigDef(
        "controller.quorum.voters",
        LIST,
        "",
        "The metadata quorum's voters as id@host:port.",
        one_voter,
        HIGH,
        effect=Effect.ACCEPTED,
    ),
    ConfigDef("node.id", INT, "1", "The id of this node in the cluster.", AtLeast(0), HIGH),
    ConfigDef(
        "process.roles",
        LIST,
        "broker,controller",
        "The roles of this process: broker and controller in one.",
        OneOf("broker", "controller"),
        HIGH,
    ),
)

_TOPICS: Final = (
    ConfigDef(
        "auto.create.topics.enable",
        BOOLEAN,
        "true",
        "Whether a topic is created when a client first uses it.",
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
        "The directory for histories of topics with barnabas.archive.enable (Parquet files); not a config of Kafka.",
        shown_only_if_set=True,
    ),
)

_METADATA: Final = (
    ConfigDef(
        "metadata.log.dir",
        STRING,
        None,
        "The directory of the metadata log; by default the first log directory.",
        importance=HIGH,
    ),
    ConfigDef(
        "metadata.log.max.record.bytes.between.snapshots",
        LONG,
        "20971520",
        "After how many bytes of metadata records a snapshot is written.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef(
        "metadata.log.max.snapshot.interval.ms",
        LONG,
        "3600000",
        "After what time new metadata records are written to a snapshot; 0 disables this.",
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
        "The size of metadata log and snapshots above which old ones are deleted.",
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
        "The addresses that clients get, if they differ from listeners.",
        importance=HIGH,
    ),
    ConfigDef(
        "connections.max.idle.ms",
        LONG,
        "600000",
        "How long a connection may be idle before it is closed; negative disables this.",
    ),
    ConfigDef(
        "fetch.max.bytes",
        INT,
        "57671680",
        "The largest answer to a fetch, whatever the client requests.",
        AtLeast(1024),
    ),
    ConfigDef(
        "listener.security.protocol.map",
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "The security protocol of each listener name.",
        importance=LOW,
    ),
    ConfigDef(
        "listeners",
        LIST,
        "PLAINTEXT://:9092",
        "The addresses to listen on, as NAME://host:port; an empty host means all interfaces.",
        importance=HIGH,
    ),
    ConfigDef(
        "max.connection.creation.rate",
        INT,
        INT_MAX,
        "How many connections are accepted per second; more have to wait.",
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
        "How many connections one address may have.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "max.connections.per.ip.overrides",
        STRING,
        "",
        "Other limits for single addresses, as host:count pairs.",
        update=Update.CLUSTER_WIDE,
    ),
    ConfigDef(
        "max.incremental.fetch.session.cache.slots",
        INT,
        "1000",
        "How many incremental fetch sessions are kept.",
        AtLeast(0),
    ),
    ConfigDef(
        "max.request.partition.size.limit",
        INT,
        "2000",
        "The most partitions in one DescribeTopicPartitions answer.",
        AtLeast(1),
    ),
    ConfigDef(
        "queued.max.request.bytes",
        LONG,
        "-1",
        "How much memory large requests that are still arriving may take, over all connections; -1 means no limit.",
    ),
    ConfigDef(
        "queued.max.requests",
        INT,
        "128",
        "How many requests of a connection may be unanswered before reading pauses.",
        AtLeast(1),
        HIGH,
    ),
    ConfigDef("socket.listen.backlog.size", INT, "1024", "How many connections may wait to be accepted.", AtLeast(1)),
    ConfigDef(
        "socket.receive.buffer.bytes",
        INT,
        "-1",
        "The receive buffer of sockets; -1 is the system default.",
        buffer_bytes,
        HIGH,
    ),
    ConfigDef("socket.request.max.bytes", INT, "104857600", "The largest request that is accepted.", AtLeast(1), HIGH),
    ConfigDef(
        "socket.send.buffer.bytes",
        INT,
        "-1",
        "The send buffer of sockets; -1 is the system default.",
        buffer_bytes,
        HIGH,
    ),
)

DEFINITIONS: Final = _IDENTITY + _TOPICS + _HISTORY + _METADATA + _NETWORK
