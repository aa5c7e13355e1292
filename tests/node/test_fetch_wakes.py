"""A waiting fetch is woken by every append after its first read, however soon."""

import asyncio
import datetime
import time
from pathlib import Path

from barnabas.handlers import fetch, produce
from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.node.broker_node import BrokerNode
from barnabas.records.record import Record, build_batch
from barnabas.wire.fetch_response import FetchAnswer
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.produce_request import PartitionRecords, ProduceCall, TopicRecords

CLIENT = ClientConnection("127.0.0.1", 1, "PLAINTEXT", "127.0.0.1")


async def fetch_then_produce(data_dir: Path) -> FetchAnswer:
    node = BrokerNode({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(data_dir)})
    await node.start()
    try:
        await node._broker.auto_create_topic("t")
        asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
        request = FetchRequest(
            max_wait=datetime.timedelta(minutes=5), min_bytes=1, topics=(FetchTopic(topic="t", partitions=(asked,)),)
        )
        later = fetch.handle(RequestContext(node._broker, CLIENT, 12, 12, None), request)
        assert not isinstance(later, FetchAnswer), "there is nothing yet"
        batch = build_batch([Record(timestamp=int(time.time() * 1000), value=b"x")])
        call = ProduceCall(None, -1, 1000, [TopicRecords("t", None, [PartitionRecords(0, batch)])])
        produce.handle(RequestContext(node._broker, CLIENT, 12, 12, None), call)
        return await asyncio.wait_for(later, 30)
    finally:
        await node.stop()


def test_a_record_between_the_first_look_and_the_wait_is_not_missed(tmp_path: Path) -> None:
    answer = asyncio.run(fetch_then_produce(tmp_path))
    assert answer.topics[0].partitions[0].records
