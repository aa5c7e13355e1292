"""Effective values: precedence, sources, synonyms; typed settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.configs import (
    TOPIC_CONFIGS,
    BrokerConfigs,
    ConfigSource,
    effective_broker_config,
    effective_broker_configs,
    effective_topic_config,
    effective_topic_configs,
    resolve_topic_settings,
    value_text,
)
from barnabas.metadata.configs.effective import topic_value, with_both_node_ids


def test_a_topics_retention_follows_kafkas_precedence() -> None:
    static = {"log.retention.hours": "1"}
    overrides: dict[str, str] = {}
    broker = BrokerConfigs(static=static)

    def retention() -> tuple[str | None, ConfigSource]:
        entry = effective_topic_config("retention.ms", overrides, broker)
        return entry.value, entry.source

    # As Kafka reports a value that was set in another unit, without synonyms.
    assert retention() == ("3600000", ConfigSource.DEFAULT)
    static["log.retention.minutes"] = "2"
    assert retention() == ("120000", ConfigSource.DEFAULT)
    assert effective_topic_config("retention.ms", overrides, broker).synonyms == ()
    static["log.retention.ms"] = "7"
    assert retention() == ("7", ConfigSource.STATIC_BROKER)
    broker = broker._replace(dynamic_default={"log.retention.ms": "8"})
    assert retention() == ("8", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    broker = broker._replace(dynamic={"log.retention.ms": "9"})
    assert retention() == ("9", ConfigSource.DYNAMIC_BROKER)
    overrides["retention.ms"] = "10"
    assert retention() == ("10", ConfigSource.TOPIC)
    entry = effective_topic_config("retention.ms", overrides, broker)
    assert [(synonym.name, synonym.value) for synonym in entry.synonyms] == [
        ("retention.ms", "10"),
        ("log.retention.ms", "9"),
        ("log.retention.ms", "8"),
        ("log.retention.ms", "7"),
        ("log.retention.minutes", "2"),
        ("log.retention.hours", "1"),
        ("log.retention.hours", "168"),
    ]


def test_unlimited_hours_stay_unlimited() -> None:
    broker = BrokerConfigs(static={"log.retention.hours": "-1"})
    assert effective_topic_config("retention.ms", {}, broker).value == "-1"
    assert resolve_topic_settings({}, broker).retention_ms == -1


def test_a_stronger_sibling_does_not_lend_its_value_to_a_weaker_one() -> None:
    broker = BrokerConfigs(static={"log.retention.ms": "7"})
    hours = effective_broker_config("log.retention.hours", broker)
    assert (hours.value, hours.source) == ("168", ConfigSource.DEFAULT)
    unset = effective_broker_config("log.retention.ms", BrokerConfigs(static={"log.retention.hours": "1"}))
    assert (unset.value, unset.source, unset.synonyms) == (None, ConfigSource.DEFAULT, ())


def test_passwords_are_never_shown() -> None:
    entry = effective_broker_configs(BrokerConfigs(static={"ssl.key.password": "hunter2"}))["ssl.key.password"]
    assert entry.source is ConfigSource.STATIC_BROKER
    assert entry.value is None
    assert entry.synonyms[0].value is None


def test_a_listeners_own_config_falls_back_to_the_brokers() -> None:
    broker = BrokerConfigs(static={"listener.name.a.max.connections": "5", "max.connections": "9"})
    entry = effective_broker_configs(broker)["listener.name.a.max.connections"]
    assert [synonym.value for synonym in entry.synonyms] == ["5", "9", "2147483647"]


def test_node_id_and_broker_id_are_one() -> None:
    assert with_both_node_ids({"node.id": "4"}) == {"node.id": "4", "broker.id": "4"}
    assert with_both_node_ids({"broker.id": "4"}) == {"node.id": "4", "broker.id": "4"}
    for same in ({}, {"broker.id": "-1"}):
        assert with_both_node_ids(same) == same


def test_internal_configs_are_shown_where_they_are_set() -> None:
    assert len(effective_topic_configs({}, BrokerConfigs())) == 33
    assert "internal.segment.bytes" in effective_topic_configs({"internal.segment.bytes": "500"}, BrokerConfigs())
    assert "log.initial.task.delay.ms" not in effective_broker_configs(BrokerConfigs())


def test_settings_are_typed() -> None:
    settings = resolve_topic_settings(
        {"cleanup.policy": "compact", "compression.type": "gzip", "compression.gzip.level": "4"}, BrokerConfigs()
    )
    assert (settings.compact, settings.delete) == (True, False)
    assert settings.compression_level == 4
    assert settings.segment_bytes == 1073741824
    assert settings.min_cleanable_dirty_ratio == 0.5
    assert settings.flush_ms == 2**63 - 1
    assert resolve_topic_settings({}, BrokerConfigs()).compression_level is None
    assert resolve_topic_settings({"internal.segment.bytes": "500"}, BrokerConfigs()).segment_bytes == 500


def test_every_acting_topic_config_has_a_setting() -> None:
    fields = set(resolve_topic_settings({}, BrokerConfigs())._fields)
    for name, definition in TOPIC_CONFIGS.items():
        if definition.effect.value == "acts" and name not in ("cleanup.policy", "internal.segment.bytes"):
            assert name.replace(".", "_") in fields


@given(st.dictionaries(st.sampled_from([n for n, d in TOPIC_CONFIGS.items() if d.default]), st.none()))
def test_the_typed_and_the_described_value_are_the_same(chosen: dict[str, None]) -> None:
    overrides = {name: TOPIC_CONFIGS[name].default or "" for name in chosen}
    broker = BrokerConfigs(static={"log.roll.hours": "2", "log.segment.bytes": "2097152"})
    for name, entry in effective_topic_configs(overrides, broker).items():
        assert value_text(topic_value(TOPIC_CONFIGS[name], overrides, broker)) == entry.value


def test_broker_values_are_typed() -> None:
    broker = BrokerConfigs(static={"num.partitions": "3", "log.dirs": "/a, /b"})
    assert broker.integer("num.partitions") == 3
    assert broker.strings("log.dirs") == ("/a", "/b")
    assert broker.strings("advertised.listeners") == ()
    assert broker.boolean("auto.create.topics.enable") is True
    assert broker.string("broker.rack") is None
    assert broker.string("log.dir") == "barnabas-data"
    assert "SSL:SSL" in broker.strings("listener.security.protocol.map")
    assert broker.strings("max.connections.per.ip.overrides") == ()
    assert broker.integer("node.id") == 1
    assert broker.number("log.cleaner.min.cleanable.ratio") == 0.5
    with pytest.raises(TypeError, match="not an integer"):
        broker.integer("log.dirs")
