"""aiokafka: the asyncio client."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from client_records import DEADLINE_S, Seen, Sent


class AioKafka:
    name = "aiokafka"

    def writable(self, records: Iterable[Sent]) -> list[Sent]:
        return list(records)

    def write(
        self, servers: str, topic: str, records: Sequence[Sent], *, codec: str = "none", **config: Any
    ) -> list[int]:
        return asyncio.run(_write(servers, topic, records, None if codec == "none" else codec, config))

    def read(self, servers: str, topic: str, ends: Mapping[int, int]) -> list[Seen]:
        return asyncio.run(_read(servers, topic, ends))


async def _write(
    servers: str, topic: str, records: Sequence[Sent], codec: str | None, config: dict[str, Any]
) -> list[int]:
    async with producer(servers, compression_type=codec, **config) as writer:
        futures = [await send(writer, topic, record) for record in records]
        return [answer.offset for answer in await asyncio.wait_for(asyncio.gather(*futures), DEADLINE_S)]


async def _read(servers: str, topic: str, ends: Mapping[int, int]) -> list[Seen]:
    async with consumer(servers) as reader:
        reader.assign([TopicPartition(topic, partition) for partition in ends])
        return [seen_of(record) for record in await take(reader, sum(ends.values()))]


@asynccontextmanager
async def producer(servers: str, **config: Any) -> AsyncIterator[AIOKafkaProducer]:
    writer = AIOKafkaProducer(bootstrap_servers=servers, linger_ms=2, **config)
    await writer.start()
    try:
        yield writer
    finally:
        await writer.stop()


@asynccontextmanager
async def consumer(servers: str, *topics: str, **config: Any) -> AsyncIterator[AIOKafkaConsumer]:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **config}
    reader = AIOKafkaConsumer(*topics, bootstrap_servers=servers, **settings)
    await reader.start()
    try:
        yield reader
    finally:
        await reader.stop()


async def send(writer: AIOKafkaProducer, topic: str, record: Sent) -> "asyncio.Future[Any]":
    return await writer.send(
        topic,
        partition=record.partition,
        key=record.key,
        value=record.value,
        headers=list(record.headers),
        timestamp_ms=record.timestamp,
    )


async def take(reader: AIOKafkaConsumer, count: int) -> list[Any]:
    """The next `count` records."""
    records: list[Any] = []
    while len(records) < count:
        batch = await reader.getmany(timeout_ms=int(DEADLINE_S * 1000), max_records=count - len(records))
        assert batch, f"got {len(records)} of {count} records"
        for batch_records in batch.values():
            records += batch_records
    return records


def seen_of(record: Any) -> Seen:
    return Seen(record.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
