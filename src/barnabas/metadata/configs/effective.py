"""The effective value of a config, its source, and its synonyms.

Kafka's precedence, first match wins:

    the topic's own  >  altered for this broker  >  altered for all brokers  >  the properties file  >  the default

Within one layer a topic config's synonyms are used in their order (log.retention.ms before .minutes before .hours).
DescribeConfigs shows them as Kafka does: unless the first synonym is set, none is shown, and the source of the value is
given as the default, even if log.retention.hours is set in the file.
"""

import enum
from collections.abc import Iterator, Mapping
from itertools import dropwhile
from types import MappingProxyType
from typing import Final, NamedTuple

from barnabas.metadata.configs.broker import ACTING_BROKER_CONFIGS, all_broker_configs, find_broker_config
from barnabas.metadata.configs.definition import ConfigDef, ConfigType, ConfigValue, Synonym
from barnabas.metadata.configs.topic import TOPIC_CONFIGS
from barnabas.metadata.configs.values import parse_value, split_list, value_text


class ConfigSource(enum.IntEnum):
    """The numbers are those of DescribeConfigs."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


def with_both_node_ids(properties: Mapping[str, str]) -> dict[str, str]:
    """node.id and broker.id are two names of one config: as in Kafka, the missing one is filled in."""
    node_id = properties.get("node.id", properties.get("broker.id", "-1"))
    missing = {name: node_id for name in ("node.id", "broker.id") if name not in properties and node_id != "-1"}
    return {**properties, **missing}


class SourcedValue(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class EffectiveConfig(NamedTuple):
    definition: ConfigDef
    value: str | None
    source: ConfigSource
    synonyms: tuple[SourcedValue, ...]
    """All settings of the config, in order of precedence: the first one is in effect."""


_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

_SIBLINGS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)


class BrokerConfigs(NamedTuple):
    """A broker's configs in three layers, all of them validated."""

    static: Mapping[str, str] = _NOTHING
    """From the properties file and the command line."""
    dynamic_default: Mapping[str, str] = _NOTHING
    """Altered at run time for every broker: the broker resource named ""."""
    dynamic: Mapping[str, str] = _NOTHING
    """Altered at run time for this broker."""

    def layers(self) -> Iterator[tuple[ConfigSource, Mapping[str, str]]]:
        yield ConfigSource.DYNAMIC_BROKER, self.dynamic
        yield ConfigSource.DYNAMIC_DEFAULT_BROKER, self.dynamic_default
        yield ConfigSource.STATIC_BROKER, self.static

    def text(self, name: str) -> str | None:
        for _, layer in self.layers():
            if name in layer:
                return layer[name]
        return _definition(name).default

    def value(self, name: str) -> ConfigValue | None:
        text = self.text(name)
        return None if text is None else parse_value(_definition(name), text)

    def integer(self, name: str) -> int:
        value = self.value(name)
        if not isinstance(value, int):
            raise TypeError(f"{name} is {value!r}, not an integer")
        return value

    def number(self, name: str) -> float:
        value = self.value(name)
        if not isinstance(value, (int, float)):
            raise TypeError(f"{name} is {value!r}, not a number")
        return float(value)

    def boolean(self, name: str) -> bool:
        value = self.value(name)
        if not isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}, not true or false")
        return value

    def strings(self, name: str) -> tuple[str, ...]:
        """The items of a list, or of a string that Kafka reads as a list."""
        value = self.value(name)
        if isinstance(value, str):
            return split_list(name, value)
        if value is not None and not isinstance(value, tuple):
            raise TypeError(f"{name} is {value!r}, not a list")
        return value or ()

    def string(self, name: str) -> str | None:
        value = self.value(name)
        if value is not None and not isinstance(value, (str, tuple)):
            raise TypeError(f"{name} is {value!r}, not a string")
        return value_text(value)


def effective_topic_configs(overrides: Mapping[str, str], broker: BrokerConfigs) -> dict[str, EffectiveConfig]:
    """All topic configs by name, sorted; some only if they are set."""
    return {
        name: effective_topic_config(name, overrides, broker)
        for name, definition in sorted(TOPIC_CONFIGS.items())
        if not definition.shown_only_if_set or name in overrides
    }


def effective_topic_config(name: str, overrides: Mapping[str, str], broker: BrokerConfigs) -> EffectiveConfig:
    return with_synonyms(TOPIC_CONFIGS[name], overrides, broker, ConfigSource.TOPIC)


def with_synonyms(
    definition: ConfigDef, overrides: Mapping[str, str], broker: BrokerConfigs, own: ConfigSource
) -> EffectiveConfig:
    """A config of a topic or a group: its own value, or else that of a synonym among the broker configs."""
    name = definition.name
    found = [SourcedValue(name, overrides[name], own)] if name in overrides else []
    inherited = _found([synonym.name for synonym in definition.synonyms], broker)
    if inherited:
        found += _beginning_with(definition.synonyms[0].name, inherited)
    first = next(iter(found or inherited), None)
    if first is None:
        return EffectiveConfig(definition, definition.default, ConfigSource.DEFAULT, ())
    unit_of = {synonym.name: synonym.unit for synonym in definition.synonyms}
    value = _in_unit(first.value, unit_of.get(first.name, 1))
    return EffectiveConfig(definition, value, found[0].source if found else ConfigSource.DEFAULT, tuple(found))


def effective_broker_configs(broker: BrokerConfigs) -> dict[str, EffectiveConfig]:
    """All broker configs by name, and the configs of single listeners that are set; some only if they are set."""
    set_names = {name for _, layer in broker.layers() for name in layer}
    names = {name for name, definition in all_broker_configs().items() if not definition.shown_only_if_set} | set_names
    return {name: effective_broker_config(name, broker) for name in sorted(names)}


def effective_broker_config(name: str, broker: BrokerConfigs) -> EffectiveConfig:
    siblings = next((family for family in _SIBLINGS if name in family), (name,))
    definition = _definition(name)
    if definition.name != name:
        siblings = (name, definition.name)
    # Synonyms before the config's own name take precedence over it, but are not its value.
    found = _beginning_with(name, _found(siblings, broker))
    if definition.is_sensitive:
        found = [SourcedValue(entry.name, None, entry.source) for entry in found]
    if not found:
        return EffectiveConfig(definition, definition.default, ConfigSource.DEFAULT, ())
    return EffectiveConfig(definition, found[0].value, found[0].source, tuple(found))


def _found(names: list[str] | tuple[str, ...], broker: BrokerConfigs) -> list[SourcedValue]:
    found = [
        SourcedValue(name, layer[name], source) for source, layer in broker.layers() for name in names if name in layer
    ]
    for name in names:
        definition = find_broker_config(name)
        if definition is not None and definition.name == name and definition.default is not None:
            found.append(SourcedValue(name, definition.default, ConfigSource.DEFAULT))
    return found


def _beginning_with(name: str, found: list[SourcedValue]) -> list[SourcedValue]:
    return list(dropwhile(lambda entry: entry.name != name, found))


def topic_value(definition: ConfigDef, overrides: Mapping[str, str], broker: BrokerConfigs) -> ConfigValue | None:
    """The typed effective value of one topic config, without source and synonyms."""
    if definition.name in overrides:
        return parse_value(definition, overrides[definition.name])
    for _, layer in broker.layers():
        for synonym in definition.synonyms:
            if synonym.name in layer:
                return _synonym_value(definition, synonym, layer[synonym.name])
    return None if definition.default is None else parse_value(definition, definition.default)


def _synonym_value(definition: ConfigDef, synonym: Synonym, text: str) -> ConfigValue:
    return parse_value(definition, _in_unit(text, synonym.unit) or "")


def _in_unit(text: str | None, unit: int) -> str | None:
    """Converts hours and minutes to milliseconds; -1 (unlimited) is kept."""
    if text is None or unit == 1:
        return text
    count = int(text)
    return str(count * unit if count > 0 else count)


def _definition(name: str) -> ConfigDef:
    definition = ACTING_BROKER_CONFIGS.get(name) or find_broker_config(name)
    # Another broker may have written a name that is unknown here. It is shown as a string.
    return definition or ConfigDef(name, ConfigType.STRING, None, "")
