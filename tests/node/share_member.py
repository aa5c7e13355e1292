"""A member of a share group over `barnabas.testing.client`: it sends exactly what a test says."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from barnabas.records.batch import split_batches
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.messages.share_acknowledge import AcknowledgementBatch as Acknowledged
from barnabas.wire.messages.share_acknowledge import AcknowledgePartition, AcknowledgeTopic, ShareAcknowledgeRequest
from barnabas.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

GROUP_RESOURCE, SET = 32, 0
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)

Batch = tuple[int, int, Sequence[int]]
"""First offset, last offset, acknowledge types."""


class ShareMember:
    def __init__(self, client: Client, group: str = "g", member: str | None = None) -> None:
        self.client = client
        self.group = group
        self.member = member or str(uuid.uuid4())
        self.member_epoch = 0
        self.session_epoch = 0

    def heartbeat(self, *topics: str, epoch: int | None = None) -> ShareGroupHeartbeatResponse:
        response: ShareGroupHeartbeatResponse = self.client.call(
            "share_group_heartbeat",
            1,
            ShareGroupHeartbeatRequest(
                group_id=self.group,
                member_id=self.member,
                member_epoch=self.member_epoch if epoch is None else epoch,
                subscribed_topic_names=topics or None,
            ),
        )
        if response.error_code == ErrorCode.none:
            self.member_epoch = response.member_epoch
        return response

    def leave(self) -> ShareGroupHeartbeatResponse:
        return self.heartbeat(epoch=-1)

    def fetch(
        self,
        topic_id: uuid.UUID | None = None,
        *acknowledged: Batch,
        partitions: Sequence[int] = (0,),
        forget: Sequence[int] = (),
        epoch: int | None = None,
        version: int = 2,
        **limits: Any,
    ) -> ShareFetchResponse:
        """Only the first fetch has to name the partitions."""
        sent = self.session_epoch if epoch is None else epoch
        topics: tuple[FetchTopic, ...] = ()
        if topic_id is not None:
            batches = tuple(
                AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=tuple(types))
                for first, last, types in acknowledged
            )
            topics = (
                FetchTopic(
                    topic_id=topic_id,
                    partitions=tuple(
                        FetchPartition(partition_index=index, acknowledgement_batches=batches) for index in partitions
                    ),
                ),
            )
        options = {"max_wait": timedelta(), "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500}
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=self.member,
            share_session_epoch=sent,
            topics=topics,
            forgotten_topics_data=(ForgottenTopic(topic_id=topic_id, partitions=tuple(forget)),) if forget else (),
            **{**options, **limits},
        )
        response: ShareFetchResponse = self.client.call("share_fetch", version, request)
        if response.error_code == ErrorCode.none:
            self.session_epoch = 0 if sent == -1 else sent + 1
        return response

    def acknowledge(
        self,
        topic_id: uuid.UUID,
        *acknowledged: Batch,
        partition: int = 0,
        epoch: int | None = None,
        version: int = 2,
        renews: bool = False,
    ) -> Any:
        sent = self.session_epoch if epoch is None else epoch
        batches = tuple(
            Acknowledged(first_offset=first, last_offset=last, acknowledge_types=tuple(types))
            for first, last, types in acknowledged
        )
        request = ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.member,
            share_session_epoch=sent,
            is_renew_ack=renews,
            topics=(
                AcknowledgeTopic(
                    topic_id=topic_id,
                    partitions=(AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches),),
                ),
            ),
        )
        response = self.client.call("share_acknowledge", version, request)
        if response.error_code == ErrorCode.none:
            self.session_epoch = 0 if sent == -1 else sent + 1
        return response


def acquired(response: ShareFetchResponse) -> list[tuple[int, int, int]]:
    """(first offset, last offset, delivery count) of everything in the response."""
    return [
        (records.first_offset, records.last_offset, records.delivery_count)
        for topic in response.responses
        for partition in topic.partitions
        for records in partition.acquired_records
    ]


def values(response: ShareFetchResponse) -> list[bytes | None]:
    """The values of the acquired records: a batch may have others."""
    return [
        record.value
        for topic in response.responses
        for partition in topic.partitions
        for batch in split_batches(partition.records)
        for record in decode_records(batch, max_bytes=1 << 20)
        if any(each.first_offset <= record.offset <= each.last_offset for each in partition.acquired_records)
    ]


def error_of(response: Any) -> tuple[ErrorCode, ErrorCode]:
    """The error code of the response, and that of its first partition."""
    partition = response.responses[0].partitions[0] if response.responses else None
    code = ErrorCode.none if partition is None else partition.error_code
    return response.error_code, code


def produce(
    client: Client,
    topic: str,
    *batches: int,
    partition: int = 0,
    prefix: str = "v",
    timestamp: int = 1_750_000_000_000,
) -> None:
    """Batches of as many records, whose values are numbered throughout."""
    number = 0
    for size in batches:
        records = [Record(timestamp=timestamp, value=f"{prefix}{number + index}".encode()) for index in range(size)]
        number += size
        data = TopicProduceData(
            name=topic, partition_data=(PartitionProduceData(index=partition, records=build_batch(records)),)
        )
        request = ProduceRequest(acks=-1, timeout=timedelta(seconds=20), topic_data=(data,))
        answer = client.call("produce", 9, request)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.none


def topic_id(client: Client, topic: str) -> uuid.UUID:
    response = client.call("metadata", 12, MetadataRequest(topics=(MetadataRequestTopic(name=topic),)))
    found = response.topics[0].topic_id
    assert isinstance(found, uuid.UUID)
    return found


def find_coordinator(client: Client, group: str) -> None:
    """Creates the group coordinator's topic, as every client does before it joins."""
    for _ in range(100):
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=(group,))
        if client.call("find_coordinator", 6, request).coordinators[0].error_code == ErrorCode.none:
            return


def configure_group(client: Client, group: str, configs: Mapping[str, str]) -> None:
    request = IncrementalAlterConfigsRequest(
        resources=(
            AlterConfigsResource(
                resource_type=GROUP_RESOURCE,
                resource_name=group,
                configs=tuple(
                    AlterableConfig(name=name, config_operation=SET, value=value) for name, value in configs.items()
                ),
            ),
        )
    )
    response = client.call("incremental_alter_configs", 1, request)
    assert response.responses[0].error_code == ErrorCode.none, response.responses[0].error_message
