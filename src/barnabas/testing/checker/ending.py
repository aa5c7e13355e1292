"""The end of a run: wait until groups reach the end, abort open transactions, read everything twice."""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from barnabas.testing.checker.clients.reader import records_of
from barnabas.testing.checker.clients.session import COMMON, partition_name, report, report_unless_disconnected
from barnabas.testing.checker.committed import ask_offsets
from barnabas.testing.checker.events import Assign, Client, Fenced, Isolation, Offsets, Poll
from barnabas.testing.checker.events import Final as FinalRead
from barnabas.testing.checker.history import Recorder

CATCH_UP_SECONDS_MAX: Final = 120.0
NO_PROGRESS_SECONDS_MAX: Final = 20.0
"""A reader is stuck if it gets nothing for this time before the end of the partition."""
CALL_SECONDS_MAX: Final = 30.0

Partitions = Sequence[tuple[str, int]]
T = TypeVar("T")


class Ending:
    def __init__(self, bootstrap: str, config: dict[str, Any], recorder: Recorder) -> None:
        self._common = {**COMMON, "bootstrap.servers": bootstrap, "error_cb": report_unless_disconnected, **config}
        self._recorder = recorder

    def wait_for_group(self, group: str, partitions: Partitions, meanwhile: Callable[[], None]) -> bool:
        """Wait until the group has committed up to the high watermarks; whether it has. Calls `meanwhile` often."""
        consumer = self._consumer(group)
        deadline = time.monotonic() + CATCH_UP_SECONDS_MAX
        try:
            ends = {partition_name(*place): self._watermarks(consumer, place)[1] for place in partitions}
            while True:
                offsets = self._ask_offsets(consumer, group, partitions)
                if all(offsets.offsets.get(name, 0) >= end for name, end in ends.items()):
                    self._recorder.note(offsets)
                    return True
                if time.monotonic() > deadline:
                    self._recorder.note(offsets)
                    return False
                meanwhile()
                time.sleep(0.2)
        finally:
            consumer.close()

    def fence(self, transactional_ids: Iterable[str]) -> None:
        """When this returns, open transactions of these ids are aborted."""
        for transactional_id in transactional_ids:
            self._with_retries(partial(self._take_over, transactional_id))
            self._recorder.note(
                Fenced(t=self._recorder.now(), p=self._recorder.process, transactional_id=transactional_id)
            )

    def _take_over(self, transactional_id: str) -> None:
        Producer({**self._common, "transactional.id": transactional_id}).init_transactions(CALL_SECONDS_MAX)

    def read_all(self, isolation: Isolation, partitions: Partitions) -> None:
        process = f"final-{isolation}"
        now = self._recorder.now
        self._recorder.note(Client(t=now(), p=process, isolation=isolation))
        positions = {partition_name(*place): 0 for place in partitions}
        self._recorder.note(Assign(t=now(), p=process, positions=positions))
        any_record = self._consumer("no-group-ends")
        consumer = self._consumer("no-group-final", isolation)
        try:
            bounds = {place: self._watermarks(any_record, place) for place in partitions}
            consumer.assign([TopicPartition(*place, bounds[place][0]) for place in partitions])
            reached = {place: start for place, (start, _) in bounds.items()}
            last_progress = time.monotonic()
            while any(reached[place] < end for place, (_, end) in bounds.items()):
                before = dict(reached)
                messages = consumer.consume(1000, timeout=0.5)
                for message in messages:
                    place = (message.topic(), message.partition())
                    error = message.error()
                    if error is None:
                        reached[place] = message.offset() + 1
                    elif error.code() == KafkaError._PARTITION_EOF:
                        reached[place] = max(reached[place], message.offset())
                records = records_of([each for each in messages if each.error() is None])
                if records:
                    self._recorder.note(Poll(t=now(), p=process, records=records))
                if reached != before:
                    last_progress = time.monotonic()
                elif time.monotonic() - last_progress > NO_PROGRESS_SECONDS_MAX:
                    break
            for place, (start, end) in bounds.items():
                self._recorder.note(
                    FinalRead(
                        t=now(),
                        p=process,
                        partition=partition_name(*place),
                        isolation=isolation,
                        start=start,
                        end=end,
                        position=reached[place],
                    )
                )
        finally:
            consumer.close()
            any_record.close()

    def _consumer(self, group: str, isolation: Isolation = "read_uncommitted") -> Consumer:
        return Consumer(
            {
                **self._common,
                "group.id": group,
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "check.crcs": True,
            }
        )

    def _ask_offsets(self, consumer: Consumer, group: str, partitions: Partitions) -> Offsets:
        return self._with_retries(lambda: ask_offsets(consumer, "runner", group, partitions, CALL_SECONDS_MAX))

    def _watermarks(self, consumer: Consumer, place: tuple[str, int]) -> tuple[int, int]:
        """Log start offset and high watermark."""
        watermarks: tuple[int, int] = self._with_retries(
            lambda: consumer.get_watermark_offsets(TopicPartition(*place), timeout=CALL_SECONDS_MAX)
        )
        return watermarks

    def _with_retries(self, call: Callable[[], T]) -> T:
        """Retry for a while: the broker may just have been restarted."""
        deadline = time.monotonic() + CALL_SECONDS_MAX
        while True:
            try:
                return call()
            except KafkaException as error:
                if time.monotonic() > deadline:
                    raise
                report(f"again: {error}")
                time.sleep(0.2)
