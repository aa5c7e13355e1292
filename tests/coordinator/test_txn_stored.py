"""The records of __transaction_state, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.txn.states import ONGOING, STATES, TransactionState
from barnabas.coordinator.txn.stored import TransactionRecord, decode_record, encode_record
from barnabas.coordinator.txn.transaction import Transaction
from barnabas.model import TopicPartition
from barnabas.wire.errors import CorruptMessage

ONE = Transaction(
    producer_id=5,
    producer_epoch=2,
    timeout_ms=60_000,
    state=ONGOING,
    partitions=frozenset({TopicPartition("t", 1), TopicPartition("t", 0), TopicPartition("u", 7)}),
    start_ms=1000,
    last_update_ms=2000,
    previous_producer_id=5,
    next_producer_id=9,
    client_version=2,
)

KEY = bytes.fromhex("0000 0001 78")
VERSION_0 = bytes.fromhex(
    "0000 0000000000000005 0002 0000ea60 01"
    "00000002 0001 74 00000002 00000000 00000001 0001 75 00000001 00000007"
    "00000000000007d0 00000000000003e8"
)
VERSION_1 = bytes.fromhex(
    "0001 0000000000000005 0002 0000ea60 01"
    "03 02 74 03 00000000 00000001 00 02 75 02 00000007 00"
    "00000000000007d0 00000000000003e8"
    "03 00 08 0000000000000005 01 08 0000000000000009 02 02 0002"
)


@pytest.mark.parametrize(("version", "value"), [(0, VERSION_0), (1, VERSION_1)])
def test_bytes(version: int, value: bytes) -> None:
    assert encode_record(TransactionRecord("x", ONE, version)) == (KEY, value)


def test_version_0_knows_nothing_of_what_version_1_adds() -> None:
    decoded = decode_record(KEY, VERSION_0)
    assert decoded is not None
    assert decoded.value == ONE._replace(previous_producer_id=-1, next_producer_id=-1, client_version=0)


def test_tombstones_and_strangers() -> None:
    assert encode_record(TransactionRecord("x", None)) == (KEY, None)
    assert decode_record(KEY, None) == ("x", None, 1)
    assert decode_record(b"\0\1\0\1x", None) is None


@pytest.mark.parametrize("value", [b"", b"\0\2", VERSION_1[:-1], VERSION_0[:16] + b"\x63" + VERSION_0[17:]])
def test_broken_values(value: bytes) -> None:
    with pytest.raises(CorruptMessage):
        decode_record(KEY, value)


int64 = st.integers(-1, 2**63 - 1)


@given(
    st.text(max_size=20),
    st.builds(
        Transaction,
        producer_id=int64,
        producer_epoch=st.integers(-1, 2**15 - 1),
        timeout_ms=st.integers(0, 2**31 - 1),
        state=st.sampled_from(STATES),
        partitions=st.frozensets(st.builds(TopicPartition, st.text("abc", min_size=1, max_size=2), st.integers(0, 5))),
        start_ms=int64,
        last_update_ms=int64,
        previous_producer_id=int64,
        next_producer_id=int64,
        client_version=st.integers(0, 2),
        last_producer_epoch=st.just(-1),
    ),
)
def test_what_is_written_is_read(transactional_id: str, transaction: Transaction) -> None:
    if transaction.state is TransactionState.EMPTY:
        transaction = transaction._replace(partitions=frozenset())
    decoded = decode_record(*encode_record(TransactionRecord(transactional_id, transaction)))
    assert decoded == (transactional_id, transaction, 1)
