"""Config definitions: complete, self-consistent, and validated as Kafka 4.3 does."""

import pytest

from barnabas.metadata.configs import (
    ACTING_BROKER_CONFIGS,
    TOPIC_CONFIGS,
    BrokerConfigs,
    ConfigDef,
    ConfigType,
    Effect,
    all_broker_configs,
    find_broker_config,
    parse_value,
    validate_broker_properties,
    validate_dynamic_broker_configs,
    validate_topic_configs,
    value_text,
)
from barnabas.wire.errors import InvalidConfig, InvalidRequest

KAFKA_4_3_TOPIC_CONFIGS = [
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
]

ALL_DEFINITIONS = [*TOPIC_CONFIGS.values(), *all_broker_configs().values()]


def test_the_topic_configs_are_those_of_kafka_4_3() -> None:
    assert len(KAFKA_4_3_TOPIC_CONFIGS) == 33
    assert {name for name, definition in TOPIC_CONFIGS.items() if not definition.shown_only_if_set} == set(
        KAFKA_4_3_TOPIC_CONFIGS
    )


@pytest.mark.parametrize("definition", ALL_DEFINITIONS, ids=lambda definition: definition.name)
def test_a_default_is_valid_and_written_as_kafka_writes_it(definition: ConfigDef) -> None:
    assert definition.documentation.endswith(".")
    if definition.default is not None:
        assert value_text(parse_value(definition, definition.default)) == definition.default


def test_every_synonym_is_a_broker_config_that_acts_where_the_topic_config_acts() -> None:
    for definition in TOPIC_CONFIGS.values():
        for synonym in definition.synonyms:
            broker_definition = find_broker_config(synonym.name)
            assert broker_definition is not None, synonym.name
            if definition.effect is Effect.ACTS:
                assert broker_definition.effect is Effect.ACTS, synonym.name


def test_the_acting_and_the_accepted_do_not_overlap() -> None:
    from barnabas.metadata.configs.broker_accepted import DEFINITIONS

    names = [definition.name for definition in DEFINITIONS]
    assert len(names) == len(set(names))
    assert not set(names) & set(ACTING_BROKER_CONFIGS)
    assert all(definition.effect is not Effect.ACTS for definition in DEFINITIONS)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("retention.ms", "abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "1_000", "Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ("segment.bytes", "100", "Invalid value 100 for configuration segment.bytes: Value must be at least 1048576"),
        ("segment.bytes", "9999999999", "Not a number of type INT"),
        ("segment.bytes", "9" * 5000, "Not a number of type INT"),
        ("cleanup.policy", "foo", "configuration cleanup.policy: String must be one of: compact, delete"),
        ("cleanup.policy", "delete,", "Configuration 'cleanup.policy' values must not be empty."),
        ("compression.type", "brotli", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("compression.lz4.level", "18", "Value must be no more than 17"),
        ("min.cleanable.dirty.ratio", "1.5", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "NaN", "Not a number of type DOUBLE"),
        ("preallocate", "yes", "Expected value to be either true or false"),
        ("message.timestamp.type", "createtime", "String must be one of: CreateTime, LogAppendTime"),
        ("leader.replication.throttled.replicas", "x", "must be the literal '*' or a list of replicas"),
        ("min.insync.replicas", "0", "Value must be at least 1"),
        ("remote.storage.enable", "true", "remote.storage.enable=true is not supported"),
        ("retention.mss", "1", "Unknown topic config name: retention.mss (did you mean retention.ms?)"),
        ("colour", "red", "Unknown topic config name: colour"),
    ],
)
def test_a_bad_topic_config_is_refused_in_kafkas_words(name: str, text: str, complaint: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        validate_topic_configs({name: text}, BrokerConfigs())
    assert complaint in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("retention.ms", " 5 ", 5),
        ("retention.ms", "+5", 5),
        ("cleanup.policy", "", ()),
        ("cleanup.policy", "delete, compact", ("delete", "compact")),
        ("cleanup.policy", "delete,delete", ("delete",)),
        ("preallocate", "TRUE", True),
        ("min.cleanable.dirty.ratio", "1e-1", 0.1),
        ("min.cleanable.dirty.ratio", "0.5f", 0.5),
        ("leader.replication.throttled.replicas", "*", ("*",)),
        ("leader.replication.throttled.replicas", " 0:1 , 1:2", ("0:1", "1:2")),
        ("remote.storage.enable", "false", False),
    ],
)
def test_what_kafka_reads_is_read(name: str, text: str, value: object) -> None:
    validate_topic_configs({name: text}, BrokerConfigs())
    assert parse_value(TOPIC_CONFIGS[name], text) == value


def test_topic_configs_must_agree_with_each_other_and_with_the_brokers() -> None:
    with pytest.raises(InvalidConfig, match=r"min\.compaction\.lag\.ms \(10\) > max\.compaction\.lag\.ms \(5\)"):
        validate_topic_configs({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, BrokerConfigs())
    broker = BrokerConfigs(static={"log.cleaner.max.compaction.lag.ms": "5"})
    with pytest.raises(InvalidConfig, match=r"\(10\) > max"):
        validate_topic_configs({"min.compaction.lag.ms": "10"}, broker)


def test_a_properties_file_is_told_all_its_faults_at_once() -> None:
    with pytest.raises(InvalidConfig) as refusal:
        validate_broker_properties({"num.partitons": "3", "num.partitions": "0", "authorizer.class.name": "x"})
    faults = str(refusal.value).splitlines()
    assert faults == [
        "Unknown broker config name: num.partitons (did you mean num.partitions?)",
        "Invalid value 0 for configuration num.partitions: Value must be at least 1",
        "authorizer.class.name is not supported: Refused unless empty, because this broker cannot enforce it.",
    ]


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"broker.id": "1", "node.id": "2"}, "two names of the same config"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "no client can connect to that address"),
        ({"process.roles": "broker"}, "process.roles must be broker,controller"),
        ({"group.min.session.timeout.ms": "10", "group.max.session.timeout.ms": "5"}, "must not exceed"),
        ({"group.consumer.session.timeout.ms": "1000"}, "group.consumer.session.timeout.ms must be between"),
        ({"group.consumer.min.heartbeat.interval.ms": "90000"}, "must be greater than or equal to"),
        (
            {"group.consumer.max.heartbeat.interval.ms": "90000", "group.consumer.heartbeat.interval.ms": "50000"},
            "group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms",
        ),
        ({"group.consumer.assignors": "mine"}, "String must be one of: uniform, range"),
        ({"group.consumer.migration.policy": "sideways"}, "String must be one of: disabled"),
        ({"group.coordinator.rebalance.protocols": "consumer"}, "Disabling the 'classic' protocol"),
        ({"controller.quorum.voters": "1@a:1,2@b:2"}, "quorum of one"),
        ({"log.retention.hours": "0"}, "unlimited"),
        ({"ssl.keystore.password": "se cret", "ssl.client.auth": "maybe"}, "String must be one of"),
        ({"remote.log.storage.system.enable": "true"}, "is not supported"),
    ],
)
def test_a_properties_file_must_agree_with_itself(properties: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        validate_broker_properties(properties)
    assert complaint in str(refusal.value)


def test_a_kafka_users_properties_file_is_accepted() -> None:
    validate_broker_properties(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": "localhost:9093",
            "listeners": "PLAINTEXT://:9092",
            "inter.broker.listener.name": "PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://localhost:9092",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "num.network.threads": "3",
            "num.io.threads": "8",
            "socket.send.buffer.bytes": "102400",
            "log.dirs": "/tmp/kraft-combined-logs",
            "num.recovery.threads.per.data.dir": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "log.retention.hours": "168",
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": "x required;",
            "listener.name.plaintext.max.connections": "10",
        }
    )


def test_only_dynamic_broker_configs_may_be_altered() -> None:
    def alter(name: str, text: str, *, per_broker: bool = False) -> None:
        validate_dynamic_broker_configs([name], {name: text}, per_broker=per_broker)

    alter("log.retention.ms", "5")
    alter("max.connections", "5", per_broker=True)
    alter("ssl.keystore.location", "/x", per_broker=True)
    with pytest.raises(InvalidRequest, match="Cannot update these configs dynamically"):
        alter("num.partitions", "5")
    with pytest.raises(InvalidRequest, match="broker id must be specified"):
        alter("ssl.keystore.location", "/x")
    with pytest.raises(InvalidRequest, match="Not a number"):
        alter("log.retention.ms", "soon")
    with pytest.raises(InvalidRequest, match=r"did you mean log\.retention\.ms"):
        alter("log.retentions.ms", "5")


def test_passwords_are_not_repeated_in_complaints() -> None:
    definition = ConfigDef("p", ConfigType.PASSWORD, None, "x.", validator=lambda _: "no good")
    with pytest.raises(InvalidConfig) as refusal:
        parse_value(definition, "hunter2")
    assert "hunter2" not in str(refusal.value)
