"""Read, process, write, exactly once: the same small application with each client.

Such an application handles all errors the same way: it closes its clients, creates new ones, and continues from the
group's committed offsets. It is done when everything is committed. `progress` is called after each transaction.
"""

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, NamedTuple, Protocol

import client_aiokafka
import client_confluent
import client_kafka_python
from aiokafka import TopicPartition as AioPartition
from aiokafka.errors import KafkaError as AioError
from client_records import DEADLINE_S
from confluent_kafka import KafkaException
from kafka.errors import KafkaError as PythonError
from kafka.structs import OffsetAndMetadata as PythonOffset

BATCH = 10
POLL_MS = 200


class Job(NamedTuple):
    servers: str
    source: str
    target: str
    group: str
    ends: Mapping[int, int]
    """By partition of the source: how many records there are."""
    progress: Callable[[], None]

    @property
    def transactional_id(self) -> str:
        return f"processor-{self.target}"


class Processor(Protocol):
    name: str

    def run(self, job: Job) -> None: ...


class ConfluentProcessor:
    name = "confluent-kafka"

    def run(self, job: Job) -> None:
        while not self._attempt(job):
            pass

    def _attempt(self, job: Job) -> bool:
        # With librdkafka's other strategy it forgets the broker for a moment, and a request that waits for it for good.
        recovery = {"metadata.recovery.strategy": "none"}
        writer = client_confluent.producer(job.servers, **{"transactional.id": job.transactional_id, **recovery})
        config = {"isolation.level": "read_committed", "session.timeout.ms": 6_000, "heartbeat.interval.ms": 300}
        with client_confluent.consumer(job.servers, job.group, **config) as reader:
            try:
                writer.init_transactions(DEADLINE_S)
                reader.subscribe([job.source])
                while True:
                    messages = [each for each in reader.consume(BATCH, POLL_MS / 1000) if each.error() is None]
                    if not messages:
                        positions = reader.committed(reader.assignment(), DEADLINE_S)
                        if {each.partition: each.offset for each in positions} == job.ends:
                            return True
                        continue
                    writer.begin_transaction()
                    for message in messages:
                        writer.produce(job.target, message.value())
                    positions = [each for each in reader.position(reader.assignment()) if each.offset >= 0]
                    writer.send_offsets_to_transaction(positions, reader.consumer_group_metadata(), DEADLINE_S)
                    writer.commit_transaction(DEADLINE_S)
                    job.progress()
            except KafkaException:
                return False


@contextmanager
def _closed_in_time(writer: Any) -> Iterator[None]:
    try:
        yield
    finally:
        # If a broker is killed at the wrong moment, its flush never ends: see `_in_time`.
        with suppress(PythonError):
            writer.close(timeout=DEADLINE_S)


def _in_time(call: Callable[[], None]) -> None:
    """kafka-python may wait for ever if a broker is killed at the wrong moment; then the application restarts."""
    outcome: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
            outcome.append(None)
        except PythonError as error:
            outcome.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    error = outcome[0] if outcome else PythonError("no answer in time")
    if error is not None:
        raise error


class KafkaPythonProcessor:
    name = "kafka-python"

    def run(self, job: Job) -> None:
        while not self._attempt(job):
            pass

    def _attempt(self, job: Job) -> bool:
        quick = {"reconnect_backoff_max_ms": 200, "retry_backoff_ms": 50}
        writer = client_kafka_python.producer(job.servers, transactional_id=job.transactional_id, **quick)
        reader = client_kafka_python.consumer(
            job.servers,
            group_id=job.group,
            isolation_level="read_committed",
            max_poll_records=BATCH,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=300,
            **quick,
        )
        with _closed_in_time(writer), closing(reader):
            try:
                writer.init_transactions()
                reader.subscribe([job.source])
                while True:
                    batches = reader.poll(timeout_ms=POLL_MS)
                    if not batches:
                        assigned = reader.assignment()
                        if {each.partition: reader.committed(each) for each in assigned} == job.ends:
                            return True
                        continue
                    writer.begin_transaction()
                    for records in batches.values():
                        for record in records:
                            writer.send(job.target, record.value)
                    offsets = {
                        place: PythonOffset(records[-1].offset + 1, "", -1) for place, records in batches.items()
                    }
                    _in_time(partial(writer.send_offsets_to_transaction, offsets, reader.group_metadata()))
                    _in_time(writer.commit_transaction)
                    job.progress()
            except PythonError:
                return False


class AioKafkaProcessor:
    name = "aiokafka"

    def run(self, job: Job) -> None:
        async def main() -> None:
            while not await self._attempt(job):
                pass

        asyncio.run(main())

    async def _attempt(self, job: Job) -> bool:
        config: dict[str, Any] = {
            "group_id": job.group,
            "isolation_level": "read_committed",
            "session_timeout_ms": 6_000,
            "heartbeat_interval_ms": 300,
            "max_poll_records": BATCH,
        }
        try:
            async with (
                client_aiokafka.producer(job.servers, transactional_id=job.transactional_id) as writer,
                client_aiokafka.consumer(job.servers, **config) as reader,
            ):
                reader.subscribe([job.source])
                while True:
                    batches = await reader.getmany(timeout_ms=POLL_MS)
                    if not batches:
                        positions = {each.partition: await reader.committed(each) for each in reader.assignment()}
                        if positions == job.ends:
                            return True
                        continue
                    async with writer.transaction():
                        for records in batches.values():
                            for record in records:
                                await writer.send(job.target, record.value)
                        offsets = {
                            AioPartition(place.topic, place.partition): records[-1].offset + 1
                            for place, records in batches.items()
                        }
                        await writer.send_offsets_to_transaction(offsets, job.group)
                    await asyncio.to_thread(job.progress)
        except AioError:
            return False


class InItsOwnProcess:
    """For a client whose threads may never end if a broker is killed at the wrong moment: the process ends them."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self.name = processor.name

    def run(self, job: Job) -> None:
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_run_and_report, args=(self._processor, job._replace(progress=_nothing), sender))
        child.start()
        sender.close()
        try:
            with suppress(EOFError):
                while True:
                    receiver.recv()
                    job.progress()
            child.join()
        finally:
            child.kill()
            receiver.close()
        assert child.exitcode == 0


def _nothing() -> None:
    """The default: do nothing after a transaction."""


def _run_and_report(processor: Processor, job: Job, sender: Connection) -> None:
    processor.run(job._replace(progress=partial(sender.send, "a transaction")))
    os._exit(0)  # without waiting for threads


PROCESSORS: list[Processor] = [ConfluentProcessor(), InItsOwnProcess(KafkaPythonProcessor()), AioKafkaProcessor()]
