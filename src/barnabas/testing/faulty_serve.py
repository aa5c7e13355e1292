"""`python -m barnabas.testing.faulty_serve`: `barnabas serve` with a built-in defect, to test the checkers.

    BARNABAS_FAULT=acks-before-appending           answers a produce 50 ms before it appends: a kill loses records
    BARNABAS_FAULT=forgets-producers               forgets idempotent producers at every start
    BARNABAS_FAULT=reads-past-last-stable-offset   read_committed gets the records of open transactions
    BARNABAS_FAULT=answers-late                    slow, not wrong: answers a produce 50 ms after the append, so that
                                                   more kills fall in between

Separate several with commas. Each replaces a function or two; `barnabas serve` itself has none of them.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from barnabas.node.errors import StartError
from barnabas.node.run import run_broker

ACK_AHEAD_SECONDS: Final = 0.05
ANSWER_LATE_SECONDS: Final = 0.05


def ack_before_appending() -> None:
    """The answer has the offset that the record will get when it is appended."""
    from barnabas.log.append_result import AppendResult
    from barnabas.replication.partition import Partition
    from barnabas.wire.errors import KafkaError

    append = Partition.append
    announced: dict[Partition, int] = {}
    """The offset of the next answer, ahead of the log."""

    def answer_first(self: Partition, batches: Any, **options: Any) -> AppendResult:
        self.check_leader()
        if self.topic_partition.topic.startswith("__"):
            return append(self, batches, **options)
        log = self.log
        first = max(announced.get(self, 0), log.log_end_offset)
        announced[self] = first + sum(batch.header.record_count for batch in batches)

        def append_at_last() -> None:
            try:
                append(self, batches, **options)
            except KafkaError as error:
                print(f"already acknowledged, and cannot be appended: {error}", file=sys.stderr)

        asyncio.get_running_loop().call_later(ACK_AHEAD_SECONDS, append_at_last)
        return AppendResult(first, announced[self] - 1, -1, log.log_start_offset, self.leader_epoch, False)

    def is_committed(self: Partition, last_offset: int) -> bool:
        return True

    _replace(Partition, "append", answer_first)
    _replace(Partition, "is_committed", is_committed)
    _replace(Partition, "append_in_place", _append_as_others)


def answer_late() -> None:
    from barnabas.replication.partition import Partition

    is_committed, wait_committed = Partition.is_committed, Partition.wait_committed

    def is_never_known_at_once(self: Partition, last_offset: int) -> bool:
        return self.topic_partition.topic.startswith("__") and is_committed(self, last_offset)

    def wait_longer(self: Partition, last_offset: int) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        delayed: asyncio.Future[None] = loop.create_future()

        def tell(known: "asyncio.Future[None]") -> None:
            if delayed.done():
                return
            if known.exception() is not None:
                delayed.set_exception(known.exception() or RuntimeError())
            else:
                delayed.set_result(None)

        def tell_late(known: "asyncio.Future[None]") -> None:
            loop.call_later(ANSWER_LATE_SECONDS, tell, known)

        known = wait_committed(self, last_offset)
        if is_committed(self, last_offset) and not known.done():
            known.set_result(None)
        known.add_done_callback(tell_late)
        return delayed

    _replace(Partition, "is_committed", is_never_known_at_once)
    _replace(Partition, "wait_committed", wait_longer)
    _replace(Partition, "append_in_place", _append_as_others)


def _append_as_others(*_: Any, **__: Any) -> int:
    """Disables the fast path for ordinary batches."""
    return -1


def forget_producers() -> None:
    """Ignores the producer state in snapshots and logs."""
    from barnabas.log import partition_log
    from barnabas.log.producer_state import ProducerState
    from barnabas.log.recovery import LoadedLog, load_log

    def load_without_producers(*arguments: Any, **options: Any) -> LoadedLog:
        loaded = load_log(*arguments, **options)
        return loaded._replace(producers=ProducerState(loaded.log_end_offset))

    _replace(partition_log, "load_log", load_without_producers)


def read_past_last_stable_offset() -> None:
    """Makes the last stable offset equal to the high watermark, and hides aborted transactions."""
    from barnabas.log.partition_log import PartitionLog

    def high_watermark(self: PartitionLog) -> int:
        return self.high_watermark

    _replace(PartitionLog, "last_stable_offset", property(high_watermark))


FAULTS: Final[dict[str, Callable[[], None]]] = {
    "acks-before-appending": ack_before_appending,
    "forgets-producers": forget_producers,
    "reads-past-last-stable-offset": read_past_last_stable_offset,
    "answers-late": answer_late,
}


def _replace(owner: object, name: str, by: object) -> None:
    """Fails if the function no longer exists, because the defect would silently have no effect."""
    if not hasattr(owner, name):
        raise AttributeError(f"{owner} has no {name}: update the fault")
    setattr(owner, name, by)


def main() -> int:
    parser = argparse.ArgumentParser(prog="faulty_serve", description="A broker that is broken on purpose.")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="a setting, by Kafka's name")
    properties = dict(pair.split("=", 1) for pair in parser.parse_args().set)
    for fault in os.environ["BARNABAS_FAULT"].split(","):
        FAULTS[fault]()
    try:
        return run_broker(properties, announce=lambda line: print(line, flush=True))
    except StartError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
