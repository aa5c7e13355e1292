"""The group coordinator's settings out of the broker's configs."""

from barnabas.coordinator.group.settings import GroupSettings
from barnabas.metadata.configs import BrokerConfigs


def group_settings(configs: BrokerConfigs) -> GroupSettings:
    return GroupSettings(
        session_timeout_ms_min=configs.integer("group.min.session.timeout.ms"),
        session_timeout_ms_max=configs.integer("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=configs.integer("group.initial.rebalance.delay.ms"),
        group_size_max=configs.integer("group.max.size"),
        offset_metadata_bytes_max=configs.integer("offset.metadata.max.bytes"),
        offsets_retention_ms=configs.integer("offsets.retention.minutes") * 60_000,
        offsets_retention_check_interval_ms=configs.integer("offsets.retention.check.interval.ms"),
        offset_commit_timeout_ms=configs.integer("offsets.commit.timeout.ms"),
    )
