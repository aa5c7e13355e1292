from collections.abc import Sequence
from typing import TypeVar

from barnabas.records.batch import Buffer

T = TypeVar("T", bound=tuple[int, ...])

def ordinary_header(
    kind: type[T], buffer: Buffer, start: int, end: int, latest_ms: int, records_max: int, /
) -> T | None: ...
def records_fill(body: Buffer, start: int, end: int, count: int, /) -> bool: ...
def seek_batch(
    window: Buffer, bytes_left: int, first_last_offset: int, next_offset: int, offset: int, /
) -> tuple[int, int, int] | None: ...
def plain_records(pairs: Sequence[tuple[bytes, bytes | None]], /) -> bytes: ...
