"""Configs of topics, brokers, groups and client metrics: definitions, validation, effective values and sources."""

from barnabas.metadata.configs.broker import ACTING_BROKER_CONFIGS, all_broker_configs, find_broker_config
from barnabas.metadata.configs.definition import ConfigDef, ConfigType, ConfigValue, Effect, Importance, Update
from barnabas.metadata.configs.effective import (
    BrokerConfigs,
    ConfigSource,
    EffectiveConfig,
    SourcedValue,
    effective_broker_config,
    effective_broker_configs,
    effective_topic_config,
    effective_topic_configs,
)
from barnabas.metadata.configs.topic import TOPIC_CONFIGS
from barnabas.metadata.configs.topic_settings import TopicSettings, resolve_topic_settings
from barnabas.metadata.configs.validation import (
    validate_broker_properties,
    validate_dynamic_broker_configs,
    validate_topic_configs,
)
from barnabas.metadata.configs.values import parse_value, value_text

__all__ = [
    "ACTING_BROKER_CONFIGS",
    "TOPIC_CONFIGS",
    "BrokerConfigs",
    "ConfigDef",
    "ConfigSource",
    "ConfigType",
    "ConfigValue",
    "Effect",
    "EffectiveConfig",
    "Importance",
    "SourcedValue",
    "TopicSettings",
    "Update",
    "all_broker_configs",
    "effective_broker_config",
    "effective_broker_configs",
    "effective_topic_config",
    "effective_topic_configs",
    "find_broker_config",
    "parse_value",
    "resolve_topic_settings",
    "validate_broker_properties",
    "validate_dynamic_broker_configs",
    "validate_topic_configs",
    "value_text",
]
