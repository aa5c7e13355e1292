"""Replay: one record at a time or all at once, from the log or from a snapshot, the image is the same."""

import copy
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.delta import Delta, PartitionChange, replay
from barnabas.metadata.draft import UnreplayableRecord
from barnabas.metadata.image import (
    BROKER,
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    EMPTY_IMAGE,
    TOPIC,
    ClusterImage,
    PartitionImage,
)
from barnabas.metadata.records import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntity,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnknownRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.metadata.snapshot import image_to_records
from barnabas.model import TopicPartition

ID = uuid.UUID(int=77)
KINDS = ("topic", "partition", "change", "remove", "clear", "broker", "broker_change", "config", "other")


def topic_id(number: int) -> uuid.UUID:
    return uuid.UUID(int=1000 + number)


@st.composite
def histories(draw: st.DrawFn) -> list[MetadataRecord]:
    """Valid sequences of records, over few enough names that they interact."""
    image = EMPTY_IMAGE
    records: list[MetadataRecord] = []
    few = st.integers(0, 3)
    replicas = st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True).map(tuple)
    maybe_replicas = st.none() | replicas
    for number in range(draw(st.integers(0, 30))):
        topics = list(image.topics.by_id.values())
        kind = draw(st.sampled_from(KINDS))
        record: MetadataRecord = NoOpRecord()
        if kind == "topic":
            name = f"t{draw(few)}"
            if name not in image.topics.by_name:
                record = TopicRecord(name=name, topic_id=topic_id(number))
        elif kind in ("partition", "change", "remove") and topics:
            topic = draw(st.sampled_from(topics))
            if kind == "remove":
                record = RemoveTopicRecord(topic_id=topic.id)
            elif kind == "partition" or not topic.partitions:
                chosen = draw(replicas)
                record = PartitionRecord(
                    partition_id=draw(few),
                    topic_id=topic.id,
                    replicas=chosen,
                    isr=chosen,
                    leader=chosen[0],
                    leader_epoch=0,
                    partition_epoch=0,
                    directories=draw(
                        st.sampled_from([(), (None,) * len(chosen), (DIRECTORY_UNASSIGNED,) * len(chosen)])
                    ),
                )
            else:
                record = PartitionChangeRecord(
                    partition_id=draw(st.sampled_from(sorted(topic.partitions))),
                    topic_id=topic.id,
                    isr=draw(maybe_replicas),
                    leader=draw(st.integers(-2, 4)),
                    removing_replicas=draw(maybe_replicas),
                    adding_replicas=draw(maybe_replicas),
                    leader_recovery_state=draw(st.integers(-1, 1)),
                    eligible_leader_replicas=draw(maybe_replicas),
                    last_known_elr=draw(maybe_replicas),
                )
        elif kind == "clear":
            record = ClearElrRecord(topic_name=draw(st.sampled_from(["", *image.topics.by_name])))
        elif kind == "broker":
            record = RegisterBrokerRecord(
                broker_id=draw(few),
                broker_epoch=number,
                incarnation_id=ID,
                end_points=(BrokerEndpoint(name="PLAINTEXT", host="h", port=9092, security_protocol=0),),
                features=(BrokerFeature(name="f", min_supported_version=0, max_supported_version=1),),
                rack=draw(st.none() | st.just("r")),
                fenced=draw(st.booleans()),
                log_dirs=(ID,),
            )
        elif kind == "broker_change" and image.brokers:
            broker = draw(st.sampled_from(list(image.brokers.values())))
            candidates: list[MetadataRecord] = [
                FenceBrokerRecord(id=broker.id, epoch=broker.epoch),
                UnfenceBrokerRecord(id=broker.id, epoch=broker.epoch),
                UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch),
                BrokerRegistrationChangeRecord(
                    broker_id=broker.id,
                    broker_epoch=broker.epoch,
                    fenced=draw(st.integers(-1, 1)),
                    in_controlled_shutdown=draw(st.integers(0, 1)),
                    cordoned_log_dirs=draw(st.sampled_from([None, (), (ID,)])),
                ),
            ]
            record = draw(st.sampled_from(candidates))
        elif kind == "config":
            record = ConfigRecord(
                resource_type=draw(st.sampled_from([TOPIC, BROKER])),
                resource_name=draw(st.sampled_from(["", "t0", "t1"])),
                name=draw(st.sampled_from(["a", "b"])),
                value=draw(st.none() | st.text(max_size=3)),
            )
        elif kind == "other":
            candidates = [
                FeatureLevelRecord(name="f", feature_level=draw(st.integers(0, 2))),
                FeatureLevelRecord(name="metadata.version", feature_level=30),
                ProducerIdsRecord(broker_id=1, next_producer_id=1000 * number),
                RegisterControllerRecord(controller_id=draw(few), incarnation_id=ID),
                AccessControlEntryRecord(id=ID, principal="User:u"),
                UserScramCredentialRecord(name="u", mechanism=1, iterations=4096),
                DelegationTokenRecord(owner="u", token_id="t"),
                ClientQuotaRecord(
                    entity=(
                        QuotaEntity(entity_type="user"),
                        QuotaEntity(entity_type="client-id", entity_name="c"),
                    ),
                    key="producer_byte_rate",
                    value=1.5,
                    remove=draw(st.booleans()),
                ),
                *(RemoveAccessControlEntryRecord(id=acl) for acl in image.access.acls),
            ]
            record = draw(st.sampled_from(candidates))
        image, _ = replay(image, [record])
        records.append(record)
    return records


def without_place(image: ClusterImage) -> ClusterImage:
    return replay(image, [], offset=-1, epoch=-1)[0]


@given(histories())
def test_one_by_one_is_all_at_once(records: list[MetadataRecord]) -> None:
    stepwise = EMPTY_IMAGE
    for record in records:
        stepwise, _ = replay(stepwise, [record])
    assert replay(EMPTY_IMAGE, records)[0] == stepwise


@given(histories())
def test_a_snapshot_makes_the_same_image(records: list[MetadataRecord]) -> None:
    image, _ = replay(EMPTY_IMAGE, records, offset=41, epoch=3)
    assert (image.offset, image.epoch) == (41, 3)
    stored = [encode_metadata_record(record) for record in image_to_records(image)]
    assert replay(EMPTY_IMAGE, map(decode_metadata_record, stored))[0] == without_place(image)


@given(histories(), st.integers(0, 30))
def test_the_delta_is_the_difference_and_the_old_image_stays(records: list[MetadataRecord], cut: int) -> None:
    before, _ = replay(EMPTY_IMAGE, records[:cut])
    kept = copy.deepcopy(before)
    after, delta = replay(before, records[cut:])
    assert before == kept
    old, new = before.topics, after.topics
    assert delta.topics_created == {key: topic for key, topic in new.by_id.items() if key not in old.by_id}
    assert delta.topics_deleted == {key: topic for key, topic in old.by_id.items() if key not in new.by_id}
    assert {(topic.id, topic.name) for topic in new.by_name.values()} == {(t.id, t.name) for t in new.by_id.values()}
    assert new.by_name == {topic.name: topic for topic in new.by_id.values()}
    expected = {}
    for topic in new.by_id.values():
        earlier = old.by_id[topic.id].partitions if topic.id in old.by_id else {}
        for index, partition in topic.partitions.items():
            if earlier.get(index) != partition:
                expected[TopicPartition(topic.name, index)] = PartitionChange(topic.id, earlier.get(index), partition)
    # A partition that was recorded again just as it was may be named as changed; nothing that changed may be missing.
    assert expected.items() <= delta.partitions_changed.items()
    ids = before.brokers.keys() | after.brokers.keys()
    assert delta.brokers_changed == {
        key: after.brokers.get(key) for key in ids if before.brokers.get(key) != after.brokers.get(key)
    }
    resources = before.configs.by_resource.keys() | after.configs.by_resource.keys()
    assert delta.configs_changed == {
        resource for resource in resources if before.configs.of(*resource) != after.configs.of(*resource)
    }


@given(histories(), st.integers(0, 30), st.integers(0, 30), st.booleans())
def test_a_transaction_counts_once_it_ends(
    records: list[MetadataRecord], first: int, second: int, committed: bool
) -> None:
    begin, split = sorted((first, second))
    prefix, inside = records[:begin], records[begin:]
    before, _ = replay(EMPTY_IMAGE, prefix)
    opened, delta = replay(before, [BeginTransactionRecord(), *inside[:split]])
    assert not delta
    assert opened.topics == before.topics
    assert opened.open_transaction == tuple(inside[:split])
    with pytest.raises(ValueError, match="open"):
        list(image_to_records(opened))
    end = EndTransactionRecord() if committed else AbortTransactionRecord(reason="no")
    after, delta = replay(opened, [*inside[split:], end])
    if committed:
        assert (after, delta) == replay(before, inside)
    else:
        assert (after, delta) == (before, Delta())


def test_naming_a_leader_starts_an_epoch_and_any_change_a_partition_epoch() -> None:
    partition = PartitionImage(
        replicas=(1, 2), directories=(ID, ID), isr=(1, 2), leader=1, leader_epoch=5, partition_epoch=9
    )
    shrunk = partition.merge(PartitionChangeRecord(isr=(1,)))
    assert (shrunk.isr, shrunk.leader_epoch, shrunk.partition_epoch) == ((1,), 5, 10)
    again = shrunk.merge(PartitionChangeRecord(leader=1))
    assert (again.leader, again.leader_epoch, again.partition_epoch) == (1, 6, 11)
    gone = again.merge(PartitionChangeRecord(leader=-1))
    assert (gone.has_leader, gone.leader_epoch) == (False, 7)


def test_directories_that_were_never_recorded_are_migrating() -> None:
    image, _ = replay(
        EMPTY_IMAGE,
        [
            TopicRecord(name="t", topic_id=ID),
            PartitionRecord(partition_id=0, topic_id=ID, replicas=(1, 2), isr=(1,), leader=1),
        ],
    )
    partition = image.topics.partition("t", 0)
    assert partition is not None
    assert partition.directories == (DIRECTORY_MIGRATING, DIRECTORY_MIGRATING)
    assert image.topics.partition("t", 1) is None
    assert image.topics.partition("u", 0) is None


def test_a_removed_topic_takes_its_configs_along() -> None:
    made, _ = replay(
        EMPTY_IMAGE,
        [
            TopicRecord(name="t", topic_id=ID),
            ConfigRecord(resource_type=TOPIC, resource_name="t", name="retention.ms", value="1"),
        ],
    )
    assert made.configs.of(TOPIC, "t") == {"retention.ms": "1"}
    gone, delta = replay(made, [RemoveTopicRecord(topic_id=ID)])
    assert gone == EMPTY_IMAGE
    assert delta.configs_changed == {(TOPIC, "t")}


@pytest.mark.parametrize(
    "record",
    [
        PartitionRecord(topic_id=ID, partition_id=0),
        PartitionChangeRecord(topic_id=topic_id(1), partition_id=8),
        RemoveTopicRecord(topic_id=ID),
        TopicRecord(name="t", topic_id=ID),
        ClearElrRecord(topic_name="nobody"),
        FenceBrokerRecord(id=1, epoch=1),
        RemoveAccessControlEntryRecord(id=ID),
        AccessControlEntryRecord(id=None),
        EndTransactionRecord(),
        AbortTransactionRecord(),
        UnknownRecord(99, 0, b""),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_contradiction_stops_the_replay(record: MetadataRecord | UnknownRecord) -> None:
    image, _ = replay(EMPTY_IMAGE, [TopicRecord(name="t", topic_id=topic_id(1))])
    with pytest.raises(UnreplayableRecord):
        replay(image, [record])


def test_transactions_do_not_nest() -> None:
    with pytest.raises(UnreplayableRecord):
        replay(EMPTY_IMAGE, [BeginTransactionRecord(), BeginTransactionRecord()])
