"""Compares a broker's answers after a crash with what was acknowledged before."""

from barnabas.records.batch import split_batches
from barnabas.records.record import Record, decode_records
from barnabas.testing.crash.operations import UNSET, check
from barnabas.testing.crash.promises import Key, Promises, Sent, Value
from barnabas.testing.crash.running_broker import NotReady, RunningBroker
from barnabas.testing.crash.transactions import find_broken_promise
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

MEMBERS_GROUP = "members"


class BrokenPromise(AssertionError):
    """Something acknowledged was not kept."""


async def verify(broker: RunningBroker, promises: Promises, *, lossy: bool) -> None:
    """Raises BrokenPromise; Refused if the broker is not ready yet.

    `lossy`: after a power cut, unsynced data may be lost. Whatever is found must be kept from now on.
    """
    await _verify_topics(broker, promises)
    await _verify_configs(broker, promises)
    await _verify_commits(broker, promises, lossy=lossy)
    for topic, sent in promises.records.items():
        if topic in promises.topics and promises.topics[topic].may_be(lossy=False) == {"yes"}:
            await _verify_records(broker, topic, sent, lossy=lossy)
    promises.transactions.is_closed |= lossy
    if broken := await find_broken_promise(broker, promises.transactions):
        raise BrokenPromise(broken)
    if promises.member is not None and not lossy:
        member_id, generation = promises.member
        request = HeartbeatRequest(group_id=MEMBERS_GROUP, generation_id=generation, member_id=member_id)
        check((await broker.call("heartbeat", 3, request)).error_code)


async def _verify_topics(broker: RunningBroker, promises: Promises) -> None:
    answer = await broker.call("metadata", 12, MetadataRequest(topics=None))
    found = {topic.name for topic in answer.topics}
    for name, fact in promises.topics.items():
        exists = "yes" if name in found else "no"
        if exists not in fact.may_be(lossy=False):
            raise BrokenPromise(f"topic {name}: exists: {exists}, promised: {fact.known}")
        fact.settle(exists)


async def _verify_configs(broker: RunningBroker, promises: Promises) -> None:
    for (topic, key), fact in promises.configs.items():
        if topic in promises.topics and promises.topics[topic].may_be(lossy=False) != {"yes"}:
            continue
        resource = DescribeConfigsResource(resource_type=2, resource_name=topic, configuration_keys=(key,))
        (result,) = (await broker.call("describe_configs", 4, DescribeConfigsRequest(resources=(resource,)))).results
        check(result.error_code, result.error_message)
        value = result.configs[0].value if result.configs else UNSET  # internal ones are described only if set
        if fact.known == UNSET and value != (fact.asked or [""])[0]:
            continue  # the broker's choice, until a change is acknowledged
        if value not in fact.may_be(lossy=False):
            raise BrokenPromise(f"{key} of {topic} is {value}, promised was {fact.known}")
        fact.settle(value)


async def _verify_commits(broker: RunningBroker, promises: Promises, *, lossy: bool) -> None:
    for group, fact in promises.commits.items():
        found = await broker.call("find_coordinator", 3, FindCoordinatorRequest(key=group))
        check(found.error_code, found.error_message)
        topics = (OffsetFetchRequestTopic(name="ledger", partition_indexes=(0,)),)
        answer = await broker.call("offset_fetch", 7, OffsetFetchRequest(group_id=group, topics=topics))
        check(answer.error_code)
        offset = str(answer.topics[0].partitions[0].committed_offset)
        if offset not in fact.may_be(lossy=lossy):
            raise BrokenPromise(f"group {group} is at offset {offset}, committed was {fact.known}")
        fact.settle(offset)


async def _verify_records(broker: RunningBroker, topic: str, sent: Sent, *, lossy: bool) -> None:
    start, end, found = await read_all(broker, topic)
    total = sent.acknowledged + sent.asked
    if sent.synced and end < len(sent.acknowledged):
        # After a crash the log is synced before unsynced records become visible; that takes a moment.
        raise NotReady(f"{topic} ends at {end}, acknowledged are {len(sent.acknowledged)}")
    whole_ends = {len(sent.acknowledged), len(total)}
    if end not in whole_ends and not (lossy and not sent.synced and end < len(total)):
        raise BrokenPromise(f"{topic} ends at {end}, acknowledged are {len(sent.acknowledged)}, asked for {len(total)}")
    if start and not sent.trimmed:
        raise BrokenPromise(f"{topic} starts at {start}, and nobody deleted anything")
    for record in found:
        if (record.key, record.value) != total[record.offset]:
            raise BrokenPromise(f"{topic} has {record} where {total[record.offset]} was sent")
    offsets = [record.offset for record in found]
    if sent.compacted:
        _verify_keys(topic, total[:end], found)
    elif offsets != list(range(start, end)):
        raise BrokenPromise(f"{topic} from {start} to {end} has the offsets {offsets}")
    if lossy:
        sent.acknowledged, sent.asked = total[:end], []


def _verify_keys(topic: str, total: list[tuple[Key, Value]], found: list[Record]) -> None:
    if (offsets := [record.offset for record in found]) != sorted(set(offsets)):
        raise BrokenPromise(f"{topic} has the offsets {offsets}")
    latest: dict[Key, Value] = dict(total)
    left: dict[Key, Value] = {record.key: record.value for record in found}
    for key, value in latest.items():
        if left.get(key) != value:
            raise BrokenPromise(f"{key!r} of {topic} is {left.get(key)!r}, its last value is {value!r}")


async def read_all(broker: RunningBroker, topic: str) -> tuple[int, int, list[Record]]:
    """The log start offset, the high watermark, and the records between them."""
    wanted = ListOffsetsPartition(partition_index=0, timestamp=-2)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=(wanted,)),))
    (answer,) = (await broker.call("list_offsets", 7, request)).topics
    check(answer.partitions[0].error_code)
    start = offset = answer.partitions[0].offset
    records: list[Record] = []
    while True:
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        fetch = FetchRequest(min_bytes=0, topics=(FetchTopic(topic=topic, partitions=(partition,)),))
        (topic_answer,) = (await broker.call("fetch", 12, fetch)).responses
        data = topic_answer.partitions[0]
        check(data.error_code)
        if offset >= data.high_watermark:
            return start, data.high_watermark, records
        before = offset
        for batch in split_batches(data.records or b""):
            records += [each for each in decode_records(batch, max_bytes=1 << 24) if each.offset >= offset]
            offset = batch.header.next_offset
        if offset == before:
            # As above: records below the high watermark may have been compacted away.
            raise NotReady(f"{topic} gives nothing at offset {offset}, its high watermark is {data.high_watermark}")
