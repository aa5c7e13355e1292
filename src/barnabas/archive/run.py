"""Archives topics, once or continuously."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from barnabas.archive.rolling import RollRules
from barnabas.archive.store import OnStep, TopicStore, ignore_step
from barnabas.archive.topic_archiver import Advance, TopicArchiver
from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.settings import ClientSettings
from barnabas.history.errors import HistoryError
from barnabas.history.manifest import Manifest

POLL_S: Final = 1.0
"""Between two checks for new records. A file is minutes of records, so a second does not matter."""


@dataclass(frozen=True)
class Job:
    topics: Sequence[str]
    history: Path
    declared: str | None = None
    """A schema for all topics; None: each keeps the one it has; empty: no typed columns."""
    rules: RollRules = field(default_factory=RollRules)
    may_lose: bool = False
    follow: bool = False


@dataclass(frozen=True)
class Watcher:
    """Receives progress, and can stop the run."""

    on_advance: Callable[[Advance], None] = lambda advance: None
    on_failure: Callable[[str, HistoryError], None] = lambda topic, failure: None
    """One topic failed; the others continue."""
    should_stop: Callable[[], bool] = lambda: False
    sleep: Callable[[float], object] = time.sleep
    on_step: OnStep = ignore_step


def archive(settings: ClientSettings, job: Job, watcher: Watcher | None = None) -> dict[str, Manifest]:
    """Returns the manifests by topic. With `follow` it ends when it is stopped, or when all topics have failed.

    A HistoryError ends only its topic; the others continue, and the first failure is raised at the end.
    """
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(settings))
        run = _Run(cluster, job, watcher or Watcher(), stack)
        run.begin()
        run.work()
    if run.failures:
        raise run.failures[0]
    return {topic: archiver.manifest for topic, archiver in run.at_work.items()}


class _Run:
    def __init__(self, cluster: Cluster, job: Job, watcher: Watcher, stack: ExitStack) -> None:
        self._cluster = cluster
        self._job = job
        self._watcher = watcher
        self._stack = stack
        self.at_work: dict[str, TopicArchiver] = {}
        self.failures: list[HistoryError] = []

    def begin(self) -> None:
        for topic in self._job.topics:
            with self._failing_alone(topic):
                self._begin(topic)

    def work(self) -> None:
        while self.at_work:
            is_last = not self._job.follow or self._watcher.should_stop()
            for topic, archiver in list(self.at_work.items()):
                with self._failing_alone(topic):
                    archiver.round(finish=is_last)
            if is_last:
                break
            self._watcher.sleep(POLL_S)

    def _begin(self, topic: str) -> None:
        store = TopicStore(self._job.history, topic, on_step=self._watcher.on_step)
        self._stack.enter_context(store.archiving())
        archiver = TopicArchiver(
            self._cluster,
            store,
            declared=self._job.declared,
            rules=self._job.rules,
            may_lose=self._job.may_lose,
            on_advance=self._watcher.on_advance,
            should_stop=self._watcher.should_stop,
        )
        self._stack.callback(archiver.abandon)
        self.at_work[topic] = archiver

    @contextmanager
    def _failing_alone(self, topic: str) -> Iterator[None]:
        try:
            yield
        except HistoryError as failure:
            self._drop(topic, failure)
        except OSError as failure:
            if isinstance(failure, ClientError):
                raise  # no broker answers, which affects all topics
            self._drop(
                topic,
                HistoryError(
                    f"The history of {topic} cannot be written in {self._job.history}: {failure.strerror or failure}",
                    "free some space, or correct the permissions of the folder, and start again: all files in the "
                    "manifest are complete, and the rest is read again",
                ),
            )

    def _drop(self, topic: str, failure: HistoryError) -> None:
        self.failures.append(failure)
        left = self.at_work.pop(topic, None)
        if left is not None:
            left.abandon()
        self._watcher.on_failure(topic, failure)
