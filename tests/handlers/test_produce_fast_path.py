"""The fast path of Produce: it takes ordinary requests, with the same answers and logs as the general path."""

import asyncio
import datetime
import errno
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from admin_broker import CLIENT, AdminBroker
from hypothesis import event, given
from hypothesis import strategies as st

from barnabas.handlers import produce_fast_path
from barnabas.log.batch_scan import Damage
from barnabas.records.batch import HEADER_SIZE, read_header
from barnabas.records.compression import Codec
from barnabas.records.record import Record, build_batch, seal
from barnabas.replication.partition import Partition
from barnabas.server.dispatch import Dispatcher, Refused
from barnabas.testing.clock import START_MS
from barnabas.testing.disk import Fault, SimulatedDisk
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.produce_preamble import PREAMBLE_BYTES_MAX

TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "rolling": {"segment.ms": "50"},
    "small": {"max.message.bytes": "150"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "synced": {"flush.messages": "1"},
    "syncing": {"flush.messages": "3"},
    "packed": {"compression.type": "gzip"},
}
PARTITIONS = 2
CORRELATION_ID = 77
BEFORE, BEHIND = b"earlier bytes", b"\x00\x02later bytes"


class Served:
    """A broker that tries the fast path for every request, or for none."""

    def __init__(self, runner: asyncio.Runner, directory: Path, *, has_fast_path: bool) -> None:
        self.runner = runner
        self.disk = SimulatedDisk()
        self.admin = AdminBroker(directory, disk=self.disk)
        self.dispatcher = Dispatcher(self.admin.services)
        self.has_fast_path = has_fast_path
        self.took_fast_path = False
        runner.run(self.admin.register())
        for name, configs in TOPICS.items():
            self.create(name, configs)

    def create(self, name: str, configs: dict[str, str]) -> None:
        topic = CreatableTopic(
            name=name,
            num_partitions=PARTITIONS,
            replication_factor=1,
            assignments=(),
            configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs.items()),
        )
        answer = self.runner.run(self.admin.ask("create_topics", CreateTopicsRequest(topics=(topic,))))
        assert answer.topics[0].error_code == ErrorCode.none

    def delete(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout=datetime.timedelta(seconds=1))
        answer = self.runner.run(self.admin.ask("delete_topics", request))
        assert answer.responses[0].error_code == ErrorCode.none

    def topic_id(self, name: str) -> uuid.UUID:
        return self.admin.image.topics.by_name[name].id

    def partition(self, topic: str, index: int = 0) -> Partition:
        return self.admin.services.replicas.get(topic, index)

    def answer(self, payload: bytes) -> bytes | str:
        """The bytes of the answer, or the error."""
        buffer = bytearray(BEFORE + payload + BEHIND)
        start, end = len(BEFORE), len(BEFORE) + len(payload)
        if self.has_fast_path:
            answer = self.dispatcher.fast_path.answer(buffer, memoryview(buffer), start, end)
            self.took_fast_path = answer is not None
            if answer is not None:
                return answer if isinstance(answer, bytes) else answer.frame
            assert buffer == BEFORE + payload + BEHIND
        return self.runner.run(self._dispatch(memoryview(bytes(buffer))[start:end]))

    async def _dispatch(self, payload: memoryview) -> bytes | str:
        try:
            answer = self.dispatcher.dispatch(CLIENT, payload)
            return b"".join(answer if isinstance(answer, list) else await answer)
        except Refused as refusal:
            return str(refusal)

    def logs(self) -> dict[str, object]:
        """All state that appends change."""
        found: dict[str, object] = {}
        for partition in self.admin.services.replicas:
            if (log := partition.opened_log) is not None:
                found[str(partition.topic_partition)] = (
                    [(segment.base_offset, segment.file.read_at(0, segment.size)) for segment in log.segments],
                    [list(segment.indexes.offset_index().positions) for segment in log.segments],
                    [(segment.indexes.max_timestamp, segment.indexes.max_timestamp_offset) for segment in log.segments],
                    (log.log_start_offset, log.high_watermark, log.log_end_offset, log.epochs.latest_epoch),
                    log.producers.end_offset,
                    {number: entry.batches for number, entry in log.producers.producers.items()},
                )
        return found


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def both(runner: asyncio.Runner) -> tuple[Served, Served]:
    """Two brokers that get the same requests: their answers must be equal."""
    return Served(runner, Path("/logs"), has_fast_path=True), Served(runner, Path("/logs"), has_fast_path=False)


@pytest.fixture
def served(runner: asyncio.Runner) -> Served:
    served = Served(runner, Path("/logs"), has_fast_path=True)
    served.answer(payload_of(request_of("plain")))  # opens the log, which the fast path does not do
    return served


def records_of(count: int, *, key: bytes | None = None, age_ms: int = 0) -> list[Record]:
    return [Record(timestamp=START_MS - age_ms, key=key, value=b"v" * (10 + 3 * n)) for n in range(count)]


def request_of(
    topic: str, batch: bytes | None = None, *, acks: int = -1, index: int = 0, topic_id: uuid.UUID | None = None
) -> ProduceRequest:
    data = PartitionProduceData(index=index, records=build_batch(records_of(1)) if batch is None else batch)
    return ProduceRequest(
        acks=acks,
        timeout=datetime.timedelta(seconds=1),
        topic_data=(TopicProduceData(name=topic, topic_id=topic_id, partition_data=(data,)),),
    )


def payload_of(request: ProduceRequest, version: int = 12, *, client_id: bytes | None = b"client") -> bytes:
    sized = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    tags = b"\x00" if version >= 9 else b""
    return struct.pack(">hhi", 0, version, CORRELATION_ID) + sized + tags + encode_request("produce", version, request)


def answered(frame: bytes | str, version: int = 12) -> PartitionProduceResponse:
    assert isinstance(frame, bytes)
    assert struct.unpack_from(">ii", frame) == (len(frame) - 4, CORRELATION_ID)
    (topic,) = decode_response("produce", version, frame, 9 if version >= 9 else 8).responses
    (partition,) = topic.partition_responses
    return cast(PartitionProduceResponse, partition)


# --- what it takes


@pytest.mark.parametrize("acks", [-1, 1])
@pytest.mark.parametrize("version", range(3, 14))
def test_an_ordinary_batch_is_appended_and_answered(served: Served, version: int, acks: int) -> None:
    for offset in (1, 4):
        request = request_of("plain", build_batch(records_of(3)), acks=acks, topic_id=served.topic_id("plain"))
        answer = answered(served.answer(payload_of(request, version)), version)
        assert served.took_fast_path
        log_start_offset = 0 if version >= 5 else -1
        assert (answer.index, answer.error_code, answer.base_offset) == (0, 0, offset)
        assert answer.log_start_offset == log_start_offset
    assert served.partition("plain").log.high_watermark == 7


@pytest.mark.parametrize("codec", Codec)
def test_so_is_a_compressed_batch(served: Served, codec: Codec) -> None:
    batch = build_batch(records_of(20), codec=codec)
    answer = answered(served.answer(payload_of(request_of("plain", batch))))
    assert served.took_fast_path
    assert (answer.error_code, answer.base_offset) == (0, 1)


def test_so_is_the_next_batch_of_an_idempotent_producer(served: Served) -> None:
    for sequence, taken in ((0, False), (2, True), (4, True), (4, False), (6, True), (9, False)):
        batch = build_batch(records_of(2), producer_id=5, producer_epoch=0, base_sequence=sequence)
        answer = answered(served.answer(payload_of(request_of("plain", batch))))
        assert served.took_fast_path == taken
    assert answer.error_code == ErrorCode.out_of_order_sequence_number
    assert served.partition("plain").log.log_end_offset == 1 + 2 * 4


def test_waiting_fetches_are_notified(served: Served) -> None:
    class Watcher:
        def __init__(self) -> None:
            self.sizes: list[int] = []

        def appended(self, size: int) -> None:
            self.sizes.append(size)

        def wake(self) -> None:
            raise AssertionError("nothing but an append has happened")

    watcher = Watcher()
    served.partition("plain").watch(watcher)
    batch = build_batch(records_of(2))
    served.answer(payload_of(request_of("plain", batch)))
    assert served.took_fast_path
    assert watcher.sizes == [len(batch)]


# --- what it leaves alone

BATCH = build_batch(records_of(1))
LEFT_ALONE: dict[str, bytes] = {
    "an unknown topic": payload_of(request_of("nowhere")),
    "an unknown partition": payload_of(request_of("plain", index=PARTITIONS)),
    "an internal topic": payload_of(request_of("__consumer_offsets")),
    "acks=0": payload_of(request_of("plain", acks=0)),
    "acks=2": payload_of(request_of("plain", acks=2)),
    "no client id": payload_of(request_of("plain"), client_id=None),
    "a client id that is no text": payload_of(request_of("plain"), client_id=b"\xff"),
    "a transactional id": payload_of(request_of("plain").replace(transactional_id="t")),
    "an empty transactional id": payload_of(request_of("plain").replace(transactional_id="")),
    "tagged fields that are cut off": payload_of(request_of("plain"))[:-3] + b"\x01\x00\x00",
    "a topic that is not there": payload_of(request_of("plain")).replace(b"\x02\x06plain", b"\x03\x06plain"),
    "a partition that is not there": payload_of(request_of("plain")).replace(b"plain\x02", b"plain\x03"),
    "an old version with records that are cut off": payload_of(request_of("plain"), 8)[:-1],
    "an old version with a transactional id": payload_of(request_of("plain").replace(transactional_id="t"), 8),
    "a name without end": payload_of(request_of("plain"), 8).replace(b"\x00\x05plain", b"\x7f\xffplain"),
    "a name of negative size": payload_of(request_of("plain"), 8).replace(b"\x00\x05plain", b"\xff\xffplain"),
    "zstd in an old version": payload_of(request_of("plain", build_batch(records_of(3), codec=Codec.ZSTD)), 6),
    "a compressed batch that is damaged": payload_of(
        request_of("plain", seal(read_header(build_batch(records_of(3), codec=Codec.LZ4)), b"no frame"))
    ),
    "no records": payload_of(request_of("plain", b"")),
    "a wrong CRC": payload_of(request_of("plain", BATCH[:-2] + b"w" + BATCH[-1:])),
    "a lying count": payload_of(
        request_of("plain", seal(read_header(BATCH)._replace(record_count=2, last_offset_delta=1), BATCH[HEADER_SIZE:]))
    ),
    "two batches": payload_of(request_of("plain", BATCH * 2)),
    "a timestamp of tomorrow": payload_of(request_of("plain", build_batch(records_of(1, age_ms=-86_400_000)))),
    "a topic that stamps": payload_of(request_of("stamped")),
    "a topic that compacts": payload_of(request_of("compacted")),
    "a topic that compresses": payload_of(request_of("packed")),
    "a topic that syncs first": payload_of(request_of("synced")),
    "a batch that is too large": payload_of(request_of("small", build_batch(records_of(5)))),
    "bytes behind the request": payload_of(request_of("plain")) + b"\x00",
    "two partitions": payload_of(
        ProduceRequest(
            acks=-1,
            timeout=datetime.timedelta(seconds=1),
            topic_data=(
                TopicProduceData(
                    name="plain",
                    partition_data=(
                        PartitionProduceData(index=0, records=BATCH),
                        PartitionProduceData(index=1, records=BATCH),
                    ),
                ),
            ),
        )
    ),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_the_unusual_is_left_alone(both: tuple[Served, Served], case: str) -> None:
    fast, general = both
    for _ in range(2):  # the second time the log is open, and more is known
        assert fast.answer(LEFT_ALONE[case]) == general.answer(LEFT_ALONE[case])
        assert not fast.took_fast_path
    assert fast.logs() == general.logs()


def test_a_client_id_that_is_no_text_is_refused_with_topic_ids_too(both: tuple[Served, Served]) -> None:
    fast, general = both
    request = request_of("plain", topic_id=general.topic_id("plain"))
    for client_id in (b"client", b"client", b"\xff"):
        payload = payload_of(request, 13, client_id=client_id)
        assert fast.answer(payload) == general.answer(payload)
    assert not fast.took_fast_path


def test_a_leader_elsewhere_is_reported_by_the_general_path(served: Served) -> None:
    served.answer(payload_of(request_of("plain")))
    assert served.took_fast_path
    served.partition("plain").lead(leader=2, leader_epoch=1)
    answer = answered(served.answer(payload_of(request_of("plain"))))
    assert not served.took_fast_path
    assert answer.error_code == ErrorCode.not_leader_or_follower


def test_a_topic_made_anew_is_another_topic(served: Served) -> None:
    served.answer(payload_of(request_of("plain")))
    assert served.took_fast_path
    served.delete("plain")
    assert answered(served.answer(payload_of(request_of("plain")))).error_code == ErrorCode.unknown_topic_or_partition
    served.create("plain", {"cleanup.policy": "compact"})
    assert answered(served.answer(payload_of(request_of("plain")))).error_code == ErrorCode.invalid_record
    assert not served.took_fast_path


@pytest.mark.parametrize(("failures", "refused"), [(1, 0), (2, 1)])
@pytest.mark.parametrize("written", [0, 20])
def test_a_write_that_fails_leaves_no_trace(served: Served, failures: int, refused: int, written: int) -> None:
    """The general path tries once more, and reports the error if that fails too."""
    served.disk.inject(Fault("write", "*plain-0/*.log", error=errno.ENOSPC, times=failures, written=written))
    answers = [answered(served.answer(payload_of(request_of("plain")))) for _ in range(3)]
    assert [answer.error_code for answer in answers] == [ErrorCode.kafka_storage_error] * refused + [0] * (3 - refused)
    assert [answer.base_offset for answer in answers] == [-1] * refused + list(range(1, 4 - refused))
    log = served.partition("plain").log
    assert not [found for segment in log.segments for found in segment.scan() if isinstance(found, Damage)]
    assert log.log_end_offset == 4 - refused


def test_it_knows_no_more_than_so_many(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce_fast_path, "TARGETS_MAX", 3)
    for number in range(20):
        served.answer(payload_of(request_of("plain"), client_id=b"client %d" % number))
        assert served.took_fast_path
        assert len(served.dispatcher.fast_path._targets) <= 3
        served.answer(payload_of(request_of("stamped"), client_id=b"client %d" % number))
        assert not served.took_fast_path
        assert len(served.dispatcher.fast_path._targets) <= 3
    known = set(served.dispatcher.fast_path._targets)
    served.answer(payload_of(request_of("plain"), client_id=b"c" * PREAMBLE_BYTES_MAX))
    assert not served.took_fast_path
    assert set(served.dispatcher.fast_path._targets) == known


# --- both ways

ORDINARY: dict[str, Any] = {
    "topic": "plain",
    "index": 0,
    "version": 12,
    "acks": -1,
    "client_id": b"client",
    "transactional_id": None,
    "count": 1,
    "key": b"key",
    "age_ms": 0,
    "codec": Codec.NONE,
    "producer": -1,
    "epoch": 0,
    "ahead": 0,
    "spoiled": None,
    "resealed": False,
    "spoiled_payload": None,
    "cut": 0,
}
spoiled_byte = st.tuples(st.integers(0, 10**6), st.integers(0, 255))
OTHERWISE: dict[str, st.SearchStrategy[Any]] = {
    "topic": st.sampled_from(list(TOPICS)),
    "index": st.sampled_from([1, 2, -1]),
    "version": st.sampled_from([3, 4, 5, 7, 8, 9, 10, 11, 13]),
    "acks": st.sampled_from([0, 1, 3]),
    "client_id": st.sampled_from([b"", None, b"\xff\xfe", b"c" * 500]),
    "transactional_id": st.sampled_from(["", "t"]),
    "count": st.integers(2, 40),
    "key": st.just(None),
    "age_ms": st.sampled_from([1, 40, 100, 10**12, -10, -(10**10)]),
    "codec": st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]),
    "producer": st.sampled_from([5, 6]),
    "epoch": st.just(1),
    "ahead": st.sampled_from([-1, 1]),
    "spoiled": spoiled_byte,
    "resealed": st.just(True),
    "spoiled_payload": spoiled_byte,
    "cut": st.integers(1, 5),
}


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """An ordinary request with some unusual fields."""
    unusual = draw(st.lists(st.sampled_from(list(OTHERWISE)), max_size=3, unique=True))
    return ORDINARY | {name: draw(OTHERWISE[name]) for name in unusual}


def make_batch(facts: dict[str, Any], last_sequence: int) -> bytes:
    records = records_of(facts["count"], key=facts["key"], age_ms=facts["age_ms"])
    idempotent = facts["producer"] >= 0
    data = bytearray(
        build_batch(
            records,
            codec=facts["codec"],
            producer_id=facts["producer"],
            producer_epoch=facts["epoch"] if idempotent else -1,
            base_sequence=max(0, last_sequence + 1 + facts["ahead"]) if idempotent else -1,
        )
    )
    if facts["spoiled"]:
        position, byte = facts["spoiled"]
        data[position % len(data)] = byte
    return seal(read_header(data), bytes(data[HEADER_SIZE:])) if facts["resealed"] else bytes(data)


def make_payload(general: Served, facts: dict[str, Any]) -> bytes:
    topic, index = facts["topic"], facts["index"]
    log = general.partition(topic, index).opened_log if 0 <= index < PARTITIONS else None
    entry = log.producers.producers.get(facts["producer"]) if log is not None else None
    batch = make_batch(facts, entry.last_sequence if entry is not None else -1)
    request = request_of(topic, batch, acks=facts["acks"], index=index, topic_id=general.topic_id(topic))
    request = request.replace(transactional_id=facts["transactional_id"])
    payload = bytearray(payload_of(request, facts["version"], client_id=facts["client_id"]))
    if facts["spoiled_payload"]:
        position, byte = facts["spoiled_payload"]
        payload[2 + position % (len(payload) - 2)] = byte
    return bytes(payload[: len(payload) - facts["cut"]])


@given(sent=st.lists(requests(), min_size=1, max_size=8))
def test_both_ways_lead_to_the_same_place(both: tuple[Served, Served], sent: list[dict[str, Any]]) -> None:
    fast, general = both
    for facts in sent:
        payload = make_payload(general, facts)
        assert fast.answer(payload) == general.answer(payload)
        event(f"fast path: {fast.took_fast_path}")
    assert fast.logs() == general.logs()
