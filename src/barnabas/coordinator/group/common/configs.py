"""Settings of one group: its own configs, within the broker's bounds, or else the broker's configs."""

from collections.abc import Callable, Mapping
from typing import Final

from barnabas.coordinator.group.common.settings import GroupSettings

_NOTHING_SET: Final[Mapping[str, str]] = {}


class GroupConfigs:
    def __init__(
        self,
        settings: GroupSettings,
        configs_of: Callable[[str], Mapping[str, str]] = lambda _: _NOTHING_SET,
        cluster_configs: Callable[[], Mapping[str, str]] = lambda: _NOTHING_SET,
    ) -> None:
        """`cluster_configs`: the dynamic configs of all brokers."""
        self._settings = settings
        self._configs_of = configs_of
        self._cluster_configs = cluster_configs

    def consumer_session_timeout_ms(self, group_id: str) -> int:
        settings = self._settings
        return self.integer(
            group_id,
            "consumer.session.timeout.ms",
            settings.consumer_session_timeout_ms,
            settings.consumer_session_timeout_ms_bounds,
        )

    def consumer_heartbeat_interval_ms(self, group_id: str) -> int:
        settings = self._settings
        return self.integer(
            group_id,
            "consumer.heartbeat.interval.ms",
            settings.consumer_heartbeat_interval_ms,
            settings.consumer_heartbeat_interval_ms_bounds,
        )

    def consumer_assignment_interval_ms(self, group_id: str) -> int:
        settings = self._settings
        altered = self._cluster_configs().get("group.consumer.assignment.interval.ms")
        return self.integer(
            group_id,
            "consumer.assignment.interval.ms",
            settings.consumer_assignment_interval_ms if altered is None else int(altered),
            settings.consumer_assignment_interval_ms_bounds,
        )

    def share_session_timeout_ms(self, group_id: str) -> int:
        settings = self._settings
        return self.integer(
            group_id,
            "share.session.timeout.ms",
            settings.share_session_timeout_ms,
            settings.share_session_timeout_ms_bounds,
        )

    def share_heartbeat_interval_ms(self, group_id: str) -> int:
        settings = self._settings
        return self.integer(
            group_id,
            "share.heartbeat.interval.ms",
            settings.share_heartbeat_interval_ms,
            settings.share_heartbeat_interval_ms_bounds,
        )

    def share_assignment_interval_ms(self, group_id: str) -> int:
        settings = self._settings
        return self.integer(
            group_id,
            "share.assignment.interval.ms",
            settings.share_assignment_interval_ms,
            settings.share_assignment_interval_ms_bounds,
        )

    def integer(self, group_id: str, name: str, default: int, bounds: tuple[int, int]) -> int:
        """Clamp the value: the bounds may have been narrowed after it was set."""
        value = self._configs_of(group_id).get(name)
        return default if value is None else min(max(int(value), bounds[0]), bounds[1])
