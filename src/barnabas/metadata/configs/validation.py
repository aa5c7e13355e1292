"""Validates configs: known names, types, bounds, and values that must agree with each other.

An unknown name is an error, which suggests a similar known name. A properties file is validated as a whole, and all
errors in it are reported at once.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from barnabas.metadata.configs.broker import all_broker_configs, find_broker_config
from barnabas.metadata.configs.definition import ConfigDef, Effect, Update
from barnabas.metadata.configs.effective import BrokerConfigs, topic_value
from barnabas.metadata.configs.topic import TOPIC_CONFIGS
from barnabas.metadata.configs.values import parse_value, value_text
from barnabas.wire.errors import InvalidConfig, InvalidRequest

_ARCHIVE: Final = "barnabas.archive.enable"


def validate_topic_configs(overrides: Mapping[str, str], broker: BrokerConfigs) -> None:
    """Validate all configs of a topic together. Raises InvalidConfig."""
    for name, text in overrides.items():
        definition = TOPIC_CONFIGS.get(name)
        if definition is None:
            raise InvalidConfig(f"Unknown topic config name: {name}{did_you_mean(name, TOPIC_CONFIGS)}")
        parse_value(definition, text)
        if definition.effect is Effect.REFUSED and not _is_default(definition, text):
            raise InvalidConfig(f"{name}={text} is not supported: {definition.documentation}")
    minimum = topic_value(TOPIC_CONFIGS["min.compaction.lag.ms"], overrides, broker)
    maximum = topic_value(TOPIC_CONFIGS["max.compaction.lag.ms"], overrides, broker)
    if isinstance(minimum, int) and isinstance(maximum, int) and minimum > maximum:
        raise InvalidConfig(
            f"conflict topic config setting min.compaction.lag.ms ({minimum}) > max.compaction.lag.ms ({maximum})"
        )
    if topic_value(TOPIC_CONFIGS[_ARCHIVE], overrides, broker):
        _validate_archive(overrides, broker)


def _validate_archive(overrides: Mapping[str, str], broker: BrokerConfigs) -> None:
    if broker.string("barnabas.archive.dir") is None:
        raise InvalidConfig(
            f"{_ARCHIVE}=true needs a directory: set barnabas.archive.dir in the broker's properties first"
        )
    policy = topic_value(TOPIC_CONFIGS["cleanup.policy"], overrides, broker)
    if isinstance(policy, tuple) and "compact" in policy:
        raise InvalidConfig(
            f"{_ARCHIVE}=true cannot be combined with cleanup.policy=compact: a compacted topic has no history"
        )


def validate_broker_properties(properties: Mapping[str, str]) -> None:
    """Validate a properties file. Raises InvalidConfig with all errors, one per line."""
    faults = [fault for name, text in properties.items() if (fault := _broker_fault(name, text))]
    if not faults:
        faults = list(_disagreements(BrokerConfigs(static=properties)))
    if faults:
        raise InvalidConfig("\n".join(faults))


def validate_dynamic_broker_configs(changed: Iterable[str], configs: Mapping[str, str], *, per_broker: bool) -> None:
    """Validate the configs of a broker resource after a change. `changed`: the changed names; others may be invalid.

    Raises InvalidRequest, as Kafka does for broker resources.
    """
    for name in changed:
        definition = find_broker_config(name)
        if definition is None:
            raise InvalidRequest(f"Unknown broker config name: {name}{did_you_mean(name, all_broker_configs())}")
        if not definition.is_dynamic:
            raise InvalidRequest(f"Cannot update these configs dynamically: {name}. Set it in the properties file.")
        if definition.update is Update.PER_BROKER and not per_broker:
            raise InvalidRequest(
                f"Cannot update these configs at default cluster level, broker id must be specified: {name}"
            )
        if name in configs and (fault := _broker_fault(name, configs[name])):
            raise InvalidRequest(fault)
    for fault in _disagreements(BrokerConfigs(dynamic=configs)):
        raise InvalidRequest(fault)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f" (did you mean {close[0]}?)" if close else ""


def _broker_fault(name: str, text: str) -> str | None:
    definition = find_broker_config(name)
    if definition is None:
        return f"Unknown broker config name: {name}{did_you_mean(name, all_broker_configs())}"
    try:
        parse_value(definition, text)
    except InvalidConfig as error:
        return str(error)
    if definition.effect is Effect.REFUSED and not _is_default(definition, text):
        return f"{name} is not supported: {definition.documentation}"
    return None


def _is_default(definition: ConfigDef, text: str) -> bool:
    default = value_text(parse_value(definition, definition.default)) if definition.default is not None else ""
    return (value_text(parse_value(definition, text)) or "") == default


def _group_disagreements(configs: BrokerConfigs, kind: str) -> Iterator[str]:
    for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"):
        own, low, high = f"group.{kind}.{name}", f"group.{kind}.min.{name}", f"group.{kind}.max.{name}"
        if configs.integer(low) > configs.integer(high):
            yield f"{high} must be greater than or equal to {low}"
        elif not configs.integer(low) <= configs.integer(own) <= configs.integer(high):
            yield f"{own} must be between {low} and {high}, which are {configs.text(low)} and {configs.text(high)}"
    heartbeat, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
    if configs.integer(heartbeat) >= configs.integer(session):
        yield f"{heartbeat} must be less than {session}"


def _disagreements(configs: BrokerConfigs) -> Iterator[str]:
    if configs.integer("group.min.session.timeout.ms") > configs.integer("group.max.session.timeout.ms"):
        yield "group.min.session.timeout.ms must not exceed group.max.session.timeout.ms"
    yield from _group_disagreements(configs, "consumer")
    if configs.integer("log.cleaner.min.compaction.lag.ms") > configs.integer("log.cleaner.max.compaction.lag.ms"):
        yield "log.cleaner.min.compaction.lag.ms must not exceed log.cleaner.max.compaction.lag.ms"
    broker_id = configs.integer("broker.id")
    if broker_id >= 0 and "node.id" in configs.static and broker_id != configs.integer("node.id"):
        yield "broker.id and node.id are two names of the same config: set one of them, or both to the same value"
    if set(configs.strings("process.roles")) != {"broker", "controller"}:
        yield "process.roles must be broker,controller: this process is both"
    for listener in configs.strings("advertised.listeners"):
        host = listener.partition("://")[2].rpartition(":")[0]
        if host in ("0.0.0.0", "[::]", ""):
            yield (
                f"advertised.listeners can't be {listener}: no client can connect to that address."
                " Name a host or an address that clients can reach."
            )
