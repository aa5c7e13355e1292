"""The driver's connection to the cluster: kept open, with retries.

`Cluster` retries by itself while brokers restart and leaders move. Here are the connector's own retries, for
responses that are wrong for a moment: a topic that not every broker knows yet, a partition that is just being deleted
(`fetchOffset.numRetries`, `fetchOffset.retryIntervalMs`).
"""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from barnabas.client.cluster import Cluster
from barnabas.client.errors import AuthenticationFailed, CannotConnect, ClientError
from barnabas.spark.options.source import SourceOptions
from barnabas.spark.source.failures import to_user_error
from barnabas.spark.source.topics import MissingTopic

T = TypeVar("T")

_log = logging.getLogger(__name__)

FIRST_CONNECT_S = 10.0
"""Until a broker has answered once, a wrong address is more likely than a restart."""


class ClusterConnection:
    """Not thread-safe."""

    def __init__(self, options: SourceOptions, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._settings = options.client()
        self._attempts = options.offset_attempts
        self._pause_s = options.offset_retry_interval_ms / 1000
        self._sleep = sleep
        self._cluster: Cluster | None = None
        self._has_answered = False

    @property
    def cluster(self) -> Cluster:
        """Opened on first use."""
        if self._cluster is None:
            limit_s = self._settings.api_timeout_s
            self._cluster = Cluster(
                self._settings, retry_for_s=limit_s if self._has_answered else min(FIRST_CONNECT_S, limit_s)
            )
        return self._cluster

    def ask(self, question: Callable[[Cluster], T]) -> T:
        """The answer; raises the error of the last attempt as a UserError."""
        for attempt in range(1, self._attempts + 1):
            try:
                answer = question(self.cluster)
            except (ClientError, MissingTopic) as failure:
                self.close()
                if self._is_final(failure) or attempt == self._attempts:
                    if isinstance(failure, ClientError):
                        raise to_user_error(failure) from failure
                    raise
                # A missing topic is most likely misspelt: that is reported once, at the end.
                level = logging.INFO if isinstance(failure, MissingTopic) else logging.WARNING
                _log.log(level, "Attempt %d of %d to get offsets failed: %s", attempt, self._attempts, failure)
                self._sleep(self._pause_s)
            else:
                self._note_answer()
                return answer
        raise AssertionError("there is at least one attempt")

    def pause(self) -> None:
        """As long as between two attempts."""
        self._sleep(self._pause_s)

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _is_final(self, failure: Exception) -> bool:
        """Whether a retry is useless: the cluster has retried already, or no broker has ever answered."""
        if isinstance(failure, CannotConnect | AuthenticationFailed):
            return True
        return not self._has_answered and isinstance(failure, ConnectionError | TimeoutError)

    def _note_answer(self) -> None:
        if not self._has_answered and self._cluster is not None:
            self._has_answered = True
            self._cluster.retry_for_s = self._settings.api_timeout_s
