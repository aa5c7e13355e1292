"""Reads the group coordinator's settings from the broker configs."""

from barnabas.coordinator.group.common.settings import GroupSettings, MigrationPolicy
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
        consumer_session_timeout_ms=configs.integer("group.consumer.session.timeout.ms"),
        consumer_session_timeout_ms_bounds=_bounds(
            configs, "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"
        ),
        consumer_heartbeat_interval_ms=configs.integer("group.consumer.heartbeat.interval.ms"),
        consumer_heartbeat_interval_ms_bounds=_bounds(
            configs, "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"
        ),
        consumer_assignment_interval_ms=configs.integer("group.consumer.assignment.interval.ms"),
        consumer_assignment_interval_ms_bounds=_bounds(
            configs, "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"
        ),
        consumer_group_size_max=configs.integer("group.consumer.max.size"),
        consumer_assignors=configs.strings("group.consumer.assignors"),
        consumer_regex_refresh_interval_ms=configs.integer("group.consumer.regex.refresh.interval.ms"),
        share_session_timeout_ms=configs.integer("group.share.session.timeout.ms"),
        share_session_timeout_ms_bounds=_bounds(
            configs, "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"
        ),
        share_heartbeat_interval_ms=configs.integer("group.share.heartbeat.interval.ms"),
        share_heartbeat_interval_ms_bounds=_bounds(
            configs, "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"
        ),
        share_assignment_interval_ms=configs.integer("group.share.assignment.interval.ms"),
        share_assignment_interval_ms_bounds=_bounds(
            configs, "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"
        ),
        share_group_size_max=configs.integer("group.share.max.size"),
        share_initialize_retry_interval_ms=configs.integer("group.share.initialize.retry.interval.ms"),
        serves_consumer_protocol="consumer"
        in [name.lower() for name in configs.strings("group.coordinator.rebalance.protocols")],
        migration_policy=MigrationPolicy((configs.string("group.consumer.migration.policy") or "").lower()),
    )


def _bounds(configs: BrokerConfigs, lowest: str, highest: str) -> tuple[int, int]:
    return configs.integer(lowest), configs.integer(highest)
