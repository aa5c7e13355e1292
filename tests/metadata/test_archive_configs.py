"""`barnabas.archive.enable`: refused if the broker can't archive the topic."""

import pytest

from barnabas.metadata.configs import BrokerConfigs, effective_topic_configs, resolve_topic_settings
from barnabas.metadata.configs.validation import validate_topic_configs
from barnabas.wire.errors import InvalidConfig

ENABLED = {"barnabas.archive.enable": "true"}
WITH_FOLDER = BrokerConfigs(static={"barnabas.archive.dir": "/history"})


def test_it_needs_a_folder_and_a_log_that_is_not_compacted() -> None:
    validate_topic_configs(ENABLED, WITH_FOLDER)
    validate_topic_configs({"barnabas.archive.enable": "false"}, BrokerConfigs())
    with pytest.raises(InvalidConfig, match=r"barnabas\.archive\.dir"):
        validate_topic_configs(ENABLED, BrokerConfigs())
    with pytest.raises(InvalidConfig, match="compact"):
        validate_topic_configs({**ENABLED, "cleanup.policy": "compact,delete"}, WITH_FOLDER)


def test_it_acts_and_is_shown_only_where_it_is_set() -> None:
    assert resolve_topic_settings(ENABLED, WITH_FOLDER).barnabas_archive_enable
    assert not resolve_topic_settings({}, WITH_FOLDER).barnabas_archive_enable
    assert "barnabas.archive.enable" in effective_topic_configs(ENABLED, WITH_FOLDER)
    assert "barnabas.archive.enable" not in effective_topic_configs({}, WITH_FOLDER)
