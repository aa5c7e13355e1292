"""The files after a clean stop, for the next process, ours or Apache Kafka's."""

import asyncio
import json
import uuid
from pathlib import Path

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.metadata.delta import replay
from barnabas.metadata.image import EMPTY_IMAGE
from barnabas.metadata.records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    decode_metadata_record,
)
from barnabas.model import OFFSETS_TOPIC
from barnabas.node.coordinator_partitions import CoordinatorPartitions
from barnabas.records.batch import split_batches
from barnabas.records.record import decode_records
from barnabas.testing import Broker
from barnabas.testing.clock import VirtualClock


def metadata_records(data_dir: Path) -> list[object]:
    log = (data_dir / "__cluster_metadata-0" / "00000000000000000000.log").read_bytes()
    return [
        decode_metadata_record(record.value or b"")
        for batch in split_batches(log)
        if not batch.header.is_control
        for record in decode_records(batch, max_bytes=1 << 20)
    ]


def test_the_broker_says_that_it_leaves_and_marks_its_directory_with_its_epoch(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "data") as broker:
        for _ in range(2):
            broker.restart()
            broker.stop()
            records = metadata_records(tmp_path / "data")
            epoch = [each.broker_epoch for each in records if isinstance(each, RegisterBrokerRecord)][-1]
            left = records[-1]
            assert isinstance(left, BrokerRegistrationChangeRecord)
            assert (left.broker_epoch, left.fenced, left.in_controlled_shutdown) == (epoch, 1, 1)
            mark = json.loads((tmp_path / "data" / ".kafka_cleanshutdown").read_text())
            assert mark == {"version": 0, "brokerEpoch": epoch}


def test_groups_are_not_loaded_again_by_what_is_committed_after_the_stop() -> None:
    coordinators_made = 0

    def make_coordinator() -> GroupCoordinator:
        nonlocal coordinators_made
        coordinators_made += 1
        raise AssertionError("there is nothing to load any more")

    async def scenario() -> None:
        topic_id = uuid.UUID(int=7)
        records: list[MetadataRecord] = [
            TopicRecord(name="__consumer_offsets", topic_id=topic_id),
            PartitionRecord(
                partition_id=0, topic_id=topic_id, replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
            ),
        ]
        image, delta = replay(EMPTY_IMAGE, records, offset=2)
        partitions = CoordinatorPartitions(OFFSETS_TOPIC, make_coordinator, node_id=1, clock=VirtualClock())
        partitions.serve()
        await partitions.stop()
        partitions.apply(image, delta)
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert coordinators_made == 0
