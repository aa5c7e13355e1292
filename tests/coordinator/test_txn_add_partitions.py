"""Partitions become part of a transaction, or are verified to be."""

from txn_core import START_MS, T0, T1, T2, Core, error_of

from barnabas.coordinator.txn.transaction import ProducerIdAndEpoch


def test_the_first_partition_begins_the_transaction() -> None:
    core = Core()
    producer = core.init()
    core.elapse(10)
    core.add(producer, T0)
    core.elapse(10)
    core.add(producer, T1, T2)
    transaction = core.shard.transactions["x"]
    assert (transaction.state.value, transaction.partitions) == ("Ongoing", {T0, T1, T2})
    assert (transaction.start_ms, transaction.last_update_ms) == (START_MS + 10, START_MS + 20)


def test_what_is_there_already_costs_no_record() -> None:
    core = Core()
    producer = core.init()
    core.add(producer, T0, T1)
    records = len(core.log)
    core.add(producer, T1)
    assert len(core.log) == records


def test_only_the_current_producer_adds() -> None:
    core = Core()
    assert error_of(lambda: core.add(ProducerIdAndEpoch(1000, 0))) == "invalid_producer_id_mapping"
    old = core.init()
    current = core.init()
    assert error_of(lambda: core.add(old)) == "producer_fenced"
    assert error_of(lambda: core.add(current._replace(producer_id=5))) == "invalid_producer_id_mapping"
    core.add(current)


def test_while_the_last_one_completes_none_begins() -> None:
    core = Core()
    producer = core.init()
    core.add(producer)
    after = core.end(producer)
    assert error_of(lambda: core.add(after)) == "concurrent_transactions"
    core.complete()
    core.add(after)
    assert core.state() == "Ongoing"


def test_verification() -> None:
    core = Core()
    producer = core.init()
    assert core.verify(producer, T0) == {T0: "transaction_abortable"}
    core.add(producer, T0)
    assert core.verify(producer, T0, T1) == {T0: "", T1: "transaction_abortable"}
    stale = producer._replace(producer_epoch=7)
    assert error_of(lambda: core.verify(stale, T0)) == "producer_fenced"
    assert error_of(lambda: core.verify(producer._replace(producer_id=1), T0)) == "invalid_producer_id_mapping"
    core.end(producer, version=0)
    assert error_of(lambda: core.verify(producer, T0)) == "concurrent_transactions"
    core.complete()
    assert core.verify(producer, T0) == {T0: "transaction_abortable"}
