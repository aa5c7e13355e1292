"""An idempotent producer that retries each batch until it is acknowledged."""

import asyncio
import datetime
from random import Random
from typing import Final

from barnabas.records.record import Record, build_batch
from barnabas.testing.simulation.node import SimulatedNode
from barnabas.testing.simulation.workload.history import BrokenPromise, History, Place
from barnabas.testing.simulation.workload.session import Session, Unavailable, UnexpectedCode, check, pause
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

BATCH_RECORDS_MAX: Final = 4
VALUE_BYTES_MAX: Final = 2_000
PAUSE_S_MAX: Final = 0.4
_TIMEOUT: Final = datetime.timedelta(seconds=2)
_LOST_SEQUENCE: Final = frozenset({ErrorCode.out_of_order_sequence_number, ErrorCode.unknown_producer_id})


class Producer:
    def __init__(self, node: SimulatedNode, host: str, name: str, place: Place, history: History) -> None:
        self._node = node
        self._name = name
        self._place = place
        self._history = history
        self._random: Random = node.new_random()
        self._session = Session(host, name)
        self._producer_id = -1
        self._sequence = 0
        self._id_after_cuts = 0
        self._next_value = 0

    async def run(self, until_ms: int) -> None:
        while self._node.simulation.now_ms < until_ms:
            await self._send(self._new_values())
            await asyncio.sleep(self._random.random() * PAUSE_S_MAX)
        self._session.close()

    def _new_values(self) -> list[bytes]:
        count = self._random.randint(1, BATCH_RECORDS_MAX)
        first, self._next_value = self._next_value, self._next_value + count
        filler = bytes(self._random.randrange(VALUE_BYTES_MAX))
        return [f"{self._name} {number} ".encode() + filler for number in range(first, first + count)]

    async def _send(self, values: list[bytes]) -> None:
        while True:
            try:
                if self._producer_id < 0:
                    await self._init()
                await self._attempt(values)
            except Unavailable:
                await pause()
            except UnexpectedCode as error:
                if error.code not in _LOST_SEQUENCE:
                    raise
                self._check_may_be_lost(error)
                self._producer_id = -1
                return  # nobody knows whether the batch is there, so its values are not sent again
            else:
                return

    async def _init(self) -> None:
        cuts = self._history.power_cuts
        answer = await self._session.call("init_producer_id", 4, InitProducerIdRequest(transaction_timeout=_TIMEOUT))
        check(answer.error_code)
        self._producer_id, self._sequence, self._id_after_cuts = answer.producer_id, 0, cuts

    async def _attempt(self, values: list[bytes]) -> None:
        cuts = self._history.power_cuts
        topic, partition = self._place
        now_ms = self._node.clock.now_ms()
        batch = build_batch(
            [Record(timestamp=now_ms, value=value) for value in values],
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=self._sequence,
        )
        data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=partition, records=batch),))
        request = ProduceRequest(acks=-1, timeout=_TIMEOUT, topic_data=(data,))
        (answer,) = (await self._session.call("produce", 9, request)).responses
        (result,) = answer.partition_responses
        check(result.error_code)
        self._sequence += len(values)
        self._history.acknowledged(self._place, result.base_offset, values, sent_after_cuts=cuts)

    def _check_may_be_lost(self, error: UnexpectedCode) -> None:
        """Acknowledged batches of this producer are gone."""
        if self._history.partitions[self._place].is_synced or self._id_after_cuts == self._history.power_cuts:
            raise BrokenPromise(f"{self._name} has sent every batch in order, and got {error}")
