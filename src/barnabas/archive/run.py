"""Archives topics, once or for as long as they live."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from barnabas.archive.rolling import RollRules
from barnabas.archive.store import OnStep, TopicStore, no_step
from barnabas.archive.topic_archiver import Advance, TopicArchiver
from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.settings import ClientSettings
from barnabas.history.errors import HistoryError
from barnabas.history.manifest import Manifest

POLL_S: Final = 1.0
"""Between two looks at the log's end. A file is minutes of records; nobody waits for this second."""


@dataclass(frozen=True)
class Job:
    topics: Sequence[str]
    history: Path
    declared: str | None = None
    """A schema for all of them; None: each goes on with what it has; empty: no typed columns."""
    rules: RollRules = field(default_factory=RollRules)
    may_lose: bool = False
    follow: bool = False


@dataclass(frozen=True)
class Watcher:
    """Who looks on, and may say that it is enough."""

    on_advance: Callable[[Advance], None] = lambda advance: None
    on_failure: Callable[[str, HistoryError], None] = lambda topic, failure: None
    """One topic cannot go on; the others do."""
    should_stop: Callable[[], bool] = lambda: False
    sleep: Callable[[float], object] = time.sleep
    on_step: OnStep = no_step


def archive(settings: ClientSettings, job: Job, watcher: Watcher | None = None) -> dict[str, Manifest]:
    """The manifests at the end, by topic. Following, it ends when told to, or when no topic is left.

    One topic's HistoryError ends that topic; the others go on, and the first failure is raised at the end.
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
                raise  # no broker answers: that is about all topics
            self._drop(
                topic,
                HistoryError(
                    f"The history of {topic} cannot be written in {self._job.history}: {failure.strerror or failure}",
                    "make room, or correct the folder's rights, and start again: what the manifest names is whole, and "
                    "the rest is read anew",
                ),
            )

    def _drop(self, topic: str, failure: HistoryError) -> None:
        self.failures.append(failure)
        left = self.at_work.pop(topic, None)
        if left is not None:
            left.abandon()
        self._watcher.on_failure(topic, failure)
