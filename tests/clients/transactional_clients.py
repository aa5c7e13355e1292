"""The clients as transactional producers and as consumers with both isolation levels, behind one interface."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple, Protocol

import client_aiokafka
import client_confluent
import client_kafka_python
from aiokafka import TopicPartition as AioPartition
from client_records import DEADLINE_S
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from kafka import TopicPartition as PythonPartition

COMMITTED = "read_committed"
UNCOMMITTED = "read_uncommitted"


class Transaction(NamedTuple):
    values: Sequence[bytes]
    commit: bool


class TransactionalClient(Protocol):
    name: str

    def write(self, servers: str, transactional_id: str, topic: str, transactions: Sequence[Transaction]) -> None:
        """One transaction after the other, all by one producer."""

    def read(self, servers: str, topic: str, isolation: str) -> list[bytes]:
        """Everything that a consumer with this isolation level can read from partition 0 now."""


class ConfluentTransactions:
    name = "confluent-kafka"

    def write(self, servers: str, transactional_id: str, topic: str, transactions: Sequence[Transaction]) -> None:
        writer = client_confluent.producer(servers, **{"transactional.id": transactional_id})
        writer.init_transactions(DEADLINE_S)
        for transaction in transactions:
            writer.begin_transaction()
            for value in transaction.values:
                writer.produce(topic, value, partition=0)
            if transaction.commit:
                writer.commit_transaction(DEADLINE_S)
            else:
                writer.flush(DEADLINE_S)  # or unsent records would never be aborted
                writer.abort_transaction(DEADLINE_S)

    def read(self, servers: str, topic: str, isolation: str) -> list[bytes]:
        config = {"isolation.level": isolation, "enable.partition.eof": True}
        values = []
        with client_confluent.consumer(servers, "reader", **config) as reader:
            reader.assign([TopicPartition(topic, 0, 0)])
            while True:
                message = reader.poll(DEADLINE_S)
                assert message is not None, "neither a record nor the end of the partition"
                error = message.error()
                if error is None:
                    values.append(message.value())
                elif error.code() == KafkaError._PARTITION_EOF:
                    return values
                else:
                    raise KafkaException(error)


class KafkaPythonTransactions:
    name = "kafka-python"

    def write(self, servers: str, transactional_id: str, topic: str, transactions: Sequence[Transaction]) -> None:
        with closing(client_kafka_python.producer(servers, transactional_id=transactional_id)) as writer:
            writer.init_transactions()
            for transaction in transactions:
                writer.begin_transaction()
                futures = [writer.send(topic, value, partition=0) for value in transaction.values]
                for future in futures:
                    future.get(DEADLINE_S)
                if transaction.commit:
                    writer.commit_transaction()
                else:
                    writer.abort_transaction()

    def read(self, servers: str, topic: str, isolation: str) -> list[bytes]:
        partition = PythonPartition(topic, 0)
        with closing(client_kafka_python.consumer(servers, isolation_level=isolation)) as reader:
            reader.assign([partition])
            end = reader.end_offsets([partition])[partition]
            values: list[bytes] = []
            while reader.position(partition) < end:
                for records in reader.poll(timeout_ms=200).values():
                    values += [record.value for record in records]
            return values


class AioKafkaTransactions:
    name = "aiokafka"

    def write(self, servers: str, transactional_id: str, topic: str, transactions: Sequence[Transaction]) -> None:
        asyncio.run(_write(servers, transactional_id, topic, transactions))

    def read(self, servers: str, topic: str, isolation: str) -> list[bytes]:
        return asyncio.run(_read(servers, topic, isolation))


async def _write(servers: str, transactional_id: str, topic: str, transactions: Sequence[Transaction]) -> None:
    async with client_aiokafka.producer(servers, transactional_id=transactional_id) as writer:
        for transaction in transactions:
            await writer.begin_transaction()
            for value in transaction.values:
                await writer.send_and_wait(topic, value, partition=0)
            await (writer.commit_transaction() if transaction.commit else writer.abort_transaction())


async def _read(servers: str, topic: str, isolation: str) -> list[bytes]:
    partition = AioPartition(topic, 0)
    async with client_aiokafka.consumer(servers, isolation_level=isolation) as reader:
        reader.assign([partition])
        end = (await reader.end_offsets([partition]))[partition]
        values: list[bytes] = []
        while await reader.position(partition) < end:
            batches: dict[Any, Any] = await reader.getmany(timeout_ms=200)
            for records in batches.values():
                values += [record.value for record in records]
        return values


CLIENTS: list[TransactionalClient] = [ConfluentTransactions(), KafkaPythonTransactions(), AioKafkaTransactions()]
