"""The operations of the workload, one request each. Each can be retried, and records what was acknowledged."""

import datetime
from collections.abc import Awaitable, Callable, Sequence

from barnabas.records.record import Record, build_batch
from barnabas.testing.crash import transactions
from barnabas.testing.crash.promises import Fact, Promises, Sent
from barnabas.testing.crash.running_broker import Refused, RunningBroker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

Operation = Callable[[RunningBroker, Promises], Awaitable[None]]

TIMEOUT = datetime.timedelta(seconds=20)
SESSION = datetime.timedelta(minutes=5)
UNSET = ""
TIMESTAMP_MS = 1_750_000_000_000


def check(code: ErrorCode, message: str | None = None, *, allowed: Sequence[ErrorCode] = ()) -> None:
    if code != ErrorCode.none and code not in allowed:
        raise Refused(f"{code.name}: {message}" if message else code.name)


def create_topic(name: str, config: dict[str, str]) -> Operation:
    async def ask(broker: RunningBroker, promises: Promises) -> None:
        fact = promises.topics.setdefault(name, Fact("no"))
        allowed = [ErrorCode.topic_already_exists] if fact.asked else []
        fact.ask("yes")
        for key, value in config.items():
            promises.configs.setdefault((name, key), Fact(value))
        configs = tuple(CreatableTopicConfig(name=key, value=value) for key, value in config.items())
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=configs)
        (result,) = (await broker.call("create_topics", 7, CreateTopicsRequest(topics=(topic,)))).topics
        check(result.error_code, result.error_message, allowed=allowed)
        fact.answered("yes")

    return ask


def delete_topic(name: str) -> Operation:
    async def ask(broker: RunningBroker, promises: Promises) -> None:
        fact = promises.topics[name]
        allowed = [ErrorCode.unknown_topic_or_partition] if fact.asked else []
        fact.ask("no")
        request = DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout=TIMEOUT)
        (result,) = (await broker.call("delete_topics", 6, request)).responses
        check(result.error_code, result.error_message, allowed=allowed)
        fact.answered("no")
        promises.configs = {key: fact for key, fact in promises.configs.items() if key[0] != name}

    return ask


def alter_config(topic: str, key: str, value: str) -> Operation:
    async def ask(broker: RunningBroker, promises: Promises) -> None:
        fact = promises.configs[topic, key]
        fact.ask(value)
        resource = AlterConfigsResource(
            resource_type=2, resource_name=topic, configs=(AlterableConfig(name=key, value=value),)
        )
        request = IncrementalAlterConfigsRequest(resources=(resource,))
        (result,) = (await broker.call("incremental_alter_configs", 1, request)).responses
        check(result.error_code, result.error_message)
        fact.answered(value)

    return ask


def alter_config_of_internal(topic: str, key: str, value: str) -> Operation:
    """Alter a config of an internal topic, which the broker itself has set so far."""

    async def ask(broker: RunningBroker, promises: Promises) -> None:
        promises.configs.setdefault((topic, key), Fact(UNSET))
        await alter_config(topic, key, value)(broker, promises)

    return ask


def produce(topic: str, records: Sequence[tuple[bytes | None, bytes | None]]) -> Operation:
    """One batch of an idempotent producer; a retry has the same sequence number."""

    async def ask(broker: RunningBroker, promises: Promises) -> None:
        sent = promises.records.setdefault(topic, Sent(synced=False))
        sent.asked = list(records)
        batch = build_batch(
            [Record(timestamp=TIMESTAMP_MS, key=key, value=value) for key, value in records],
            producer_id=promises.producer_ids[-1],
            producer_epoch=0,
            base_sequence=sent.sequence,
        )
        data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=batch),))
        request = ProduceRequest(acks=-1, timeout=TIMEOUT, topic_data=(data,))
        (answer,) = (await broker.call("produce", 9, request)).responses
        result = answer.partition_responses[0]
        check(result.error_code, result.error_message)
        sent.answered()

    return ask


async def init_producer(broker: RunningBroker, promises: Promises) -> None:
    answer = await broker.call("init_producer_id", 4, InitProducerIdRequest(transaction_timeout=TIMEOUT))
    check(answer.error_code)
    if answer.producer_id in promises.producer_ids:
        raise AssertionError(f"producer id {answer.producer_id} was given out twice")
    promises.producer_ids.append(answer.producer_id)
    for sent in promises.records.values():
        sent.sequence = 0


def transact(*, commit: bool) -> Operation:
    async def ask(broker: RunningBroker, promises: Promises) -> None:
        await transactions.transact(broker, promises.transactions, commit=commit)

    return ask


def delete_records(topic: str, offset: int) -> Operation:
    async def ask(broker: RunningBroker, promises: Promises) -> None:
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        topics = (DeleteRecordsTopic(name=topic, partitions=(partition,)),)
        request = DeleteRecordsRequest(topics=topics, timeout=TIMEOUT)
        (answer,) = (await broker.call("delete_records", 2, request)).topics
        check(answer.partitions[0].error_code)
        promises.records[topic].start_offset = offset

    return ask


def commit(group: str, topic: str, offset: int) -> Operation:
    async def ask(broker: RunningBroker, promises: Promises) -> None:
        found = await broker.call("find_coordinator", 3, FindCoordinatorRequest(key=group))
        check(found.error_code, found.error_message)
        fact = promises.commits.setdefault(group, Fact("-1"))
        fact.ask(str(offset))
        position = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=group, topics=(OffsetCommitRequestTopic(name=topic, partitions=(position,)),)
        )
        (answer,) = (await broker.call("offset_commit", 8, request)).topics
        check(answer.partitions[0].error_code)
        fact.answered(str(offset))

    return ask


def join(group: str) -> Operation:
    """Join as the only member and leader; the generation is on disk when SyncGroup is answered."""

    async def ask(broker: RunningBroker, promises: Promises) -> None:
        promises.member = None
        request = JoinGroupRequest(
            group_id=group,
            session_timeout=SESSION,
            rebalance_timeout=SESSION,
            protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name="range", metadata=b"m"),),
        )
        answer = await broker.call("join_group", 3, request)
        check(answer.error_code)
        assignment = SyncGroupRequestAssignment(member_id=answer.member_id, assignment=b"a")
        sync = SyncGroupRequest(
            group_id=group,
            generation_id=answer.generation_id,
            member_id=answer.member_id,
            assignments=(assignment,),
        )
        check((await broker.call("sync_group", 2, sync)).error_code)
        promises.member = answer.member_id, answer.generation_id

    return ask


def wait(duration_ms: int) -> Operation:
    async def pass_time(broker: RunningBroker, promises: Promises) -> None:
        await broker.pass_ms(duration_ms)

    return pass_time
