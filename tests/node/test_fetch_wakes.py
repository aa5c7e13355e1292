"""A waiting fetch is woken by every append after its first read, however soon."""

import asyncio
import datetime
import time
from pathlib import Path

from barnabas.handlers import fetch, produce
from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.handlers.services import bind
from barnabas.node.broker_node import BrokerNode
from barnabas.records.record import Record, build_batch
from barnabas.wire.fetch_response import FetchAnswer
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

CONTEXT = RequestContext(ClientConnection("127.0.0.1", 1, "PLAINTEXT", "127.0.0.1"), 12, 12, None)


async def fetch_then_produce(data_dir: Path) -> FetchAnswer:
    node = BrokerNode({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(data_dir)})
    await node.start()
    try:
        await node._services.topic_maker.auto_create("t")
        asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
        request = FetchRequest(
            max_wait=datetime.timedelta(minutes=5), min_bytes=1, topics=(FetchTopic(topic="t", partitions=(asked,)),)
        )
        later = bind(fetch.handle, node._services)(CONTEXT, request)
        assert not isinstance(later, FetchAnswer), "there is nothing yet"
        batch = build_batch([Record(timestamp=int(time.time() * 1000), value=b"x")])
        topic = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=0, records=batch),))
        call = ProduceRequest(acks=-1, timeout=datetime.timedelta(seconds=1), topic_data=(topic,))
        bind(produce.handle, node._services)(CONTEXT, call)
        return await asyncio.wait_for(later, 30)
    finally:
        await node.stop()


def test_a_record_between_the_first_look_and_the_wait_is_not_missed(tmp_path: Path) -> None:
    answer = asyncio.run(fetch_then_produce(tmp_path))
    assert answer.topics[0].partitions[0].records
