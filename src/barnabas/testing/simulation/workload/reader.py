"""Reads a partition from its beginning, and follows it."""

import datetime
from typing import Final

from barnabas.records.batch import split_batches
from barnabas.records.record import decode_records
from barnabas.testing.simulation.node import SimulatedNode
from barnabas.testing.simulation.workload.history import History, Place
from barnabas.testing.simulation.workload.session import Session, Unavailable, UnexpectedCode, check, pause
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

FETCH_BYTES: Final = 20_000
_WAIT: Final = datetime.timedelta(milliseconds=500)
_DECODED_BYTES_MAX: Final = 1 << 24


class Reader:
    def __init__(self, node: SimulatedNode, session: Session, name: str, place: Place, history: History) -> None:
        self.position = 0
        self.high_watermark = 0
        self.found: dict[int, bytes] = {}
        """Everything read since the last time it began at 0."""
        self._node = node
        self._session = session
        self._name = name
        self._place = place
        self._history = history

    async def run(self, until_ms: int) -> None:
        while self._node.simulation.now_ms < until_ms:
            try:
                await self.fetch()
            except Unavailable:
                await pause()
        self._session.close()

    async def read_all(self) -> None:
        """Up to the high watermark."""
        while True:
            try:
                if not await self.fetch() and self.position >= self.high_watermark:
                    return
            except Unavailable:
                await pause()

    async def fetch(self) -> int:
        """How many records were read. If the log has become shorter, begin again at 0."""
        cuts = self._history.power_cuts
        topic, partition = self._place
        wanted = FetchPartition(partition=partition, fetch_offset=self.position, partition_max_bytes=FETCH_BYTES)
        request = FetchRequest(max_wait=_WAIT, min_bytes=1, topics=(FetchTopic(topic=topic, partitions=(wanted,)),))
        (answer,) = (await self._session.call("fetch", 12, request)).responses
        (data,) = answer.partitions
        try:
            check(data.error_code)
        except UnexpectedCode as error:
            if error.code != ErrorCode.offset_out_of_range:
                raise
            self._history.out_of_range(self._name, self._place, self.position, sent_after_cuts=cuts)
            self.position = 0
            self.found.clear()
            return 0
        records = [
            (record.offset, record.value or b"")
            for batch in split_batches(data.records or b"")
            for record in decode_records(batch, max_bytes=_DECODED_BYTES_MAX)
            if record.offset >= self.position
        ]
        self.high_watermark = data.high_watermark
        self._history.read(self._name, self._place, self.position, records, data.high_watermark, sent_after_cuts=cuts)
        self.found.update(records)
        self.position += len(records)
        return len(records)
