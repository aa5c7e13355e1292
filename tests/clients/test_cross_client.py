"""Every client reads what any other wrote, with every codec: contents, keys, headers, timestamps, order."""

import time

import pytest
from client_aiokafka import AioKafka
from client_confluent import ConfluentKafka
from client_kafka_python import KafkaPython
from client_kcat import Kcat
from client_records import CODECS, Client, Seen, Sent, ends_of, in_order, sample_records

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

CLIENTS: tuple[Client, ...] = (ConfluentKafka(), KafkaPython(), AioKafka(), Kcat())
PARTITIONS = 2
CLOCK_SKEW_MS = 60_000


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", CLIENTS, ids=lambda client: client.name)
def test_every_client_reads_what_one_wrote(broker: Broker, topic: str, writer: Client, codec: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic, partitions=PARTITIONS)
    records = writer.writable(sample_records(PARTITIONS))
    offsets = writer.write(servers, topic, records, codec=codec)
    for reader in CLIENTS:
        seen = in_order(reader.read(servers, topic, ends_of(records)))
        assert seen == expected(records, offsets, seen), f"{reader.name} read something else"


def expected(records: list[Sent], offsets: list[int], seen: list[Seen]) -> list[Seen]:
    """The records as they should be read. A timestamp that the client set itself only has to be of today."""
    chosen = {(record.partition, record.offset): record.timestamp for record in seen}
    now = int(time.time() * 1000)
    assert all(abs(now - timestamp) < 2 * CLOCK_SKEW_MS for timestamp in chosen.values())
    should = [
        Seen(
            sent.partition, offset, sent.timestamp or chosen[sent.partition, offset], sent.key, sent.value, sent.headers
        )
        for sent, offset in zip(records, offsets, strict=True)
    ]
    return in_order(should)
