"""What a start does before the first connection: stray directories are renamed, large logs recovered by workers."""

import datetime
from pathlib import Path

from barnabas.records.record import Record, build_batch
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


def produce(broker: Broker, topic: str, value: bytes) -> int:
    data = PartitionProduceData(index=0, records=build_batch([Record(timestamp=1, value=value)]))
    request = ProduceRequest(
        acks=-1,
        timeout=datetime.timedelta(seconds=5),
        topic_data=(TopicProduceData(name=topic, partition_data=(data,)),),
    )
    with broker.connect() as client:
        answer = client.call("produce", 12, request).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.none
    return int(answer.base_offset)


def end_offset(broker: Broker, topic: str) -> int:
    asked = ListOffsetsTopic(name=topic, partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),))
    with broker.connect() as client:
        answer = client.call("list_offsets", 7, ListOffsetsRequest(replica_id=-1, topics=(asked,)))
    return int(answer.topics[0].partitions[0].offset)


def test_a_directory_of_no_topic_is_kept_under_another_name() -> None:
    with Broker() as broker:
        broker.create_topic("known")
        produce(broker, "known", b"stays")
        broker.stop()
        stray = Path(broker.data_dir, "forgotten-3")
        stray.mkdir()
        (stray / "00000000000000000000.log").write_bytes(b"somebody may want this")
        broker.start()
        assert end_offset(broker, "known") == 1
        kept = [path for path in Path(broker.data_dir).iterdir() if path.name.startswith("forgotten-3")]
        assert [path.name.endswith("-stray") for path in kept] == [True]
        assert (kept[0] / "00000000000000000000.log").read_bytes() == b"somebody may want this"


def test_a_log_with_much_to_read_is_recovered_before_the_first_connection() -> None:
    with Broker(process=True) as broker:
        broker.create_topic("large")
        for _ in range(8):
            produce(broker, "large", bytes(1_000_000))
        broker.kill()
        log = Path(broker.data_dir, "large-0", "00000000000000000000.log")
        with log.open("ab") as file:
            file.write(b"a torn batch")
        broker.start()
        assert log.stat().st_size % 1_000_000 < 1000, "the torn tail is cut off before anybody asks"
        assert end_offset(broker, "large") == 8
        assert produce(broker, "large", b"goes on") == 8
