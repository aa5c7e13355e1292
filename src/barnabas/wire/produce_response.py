"""The response to one batch that was appended, packed by hand: it is sent more often than all others together.

A test compares it with the codec, which writes all other responses to Produce.
"""

import struct
from typing import Final

from barnabas.wire.api_table import PRODUCE_FLEXIBLE_SINCE

_partition_and_error = struct.Struct(">ih")
_int32 = struct.Struct(">i")

_LOG_START_SINCE: Final = 5
_RECORD_ERRORS_SINCE: Final = 8


class PlainAnswer:
    """The response for one partition's batch that was appended, with everything filled in but three numbers."""

    __slots__ = ("_before", "_end", "_has_log_start", "_pack", "_size", "_tags")

    def __init__(self, version: int, topic: bytes, partition: int) -> None:
        """`topic`: its name or id, encoded as in the request."""
        flexible = version >= PRODUCE_FLEXIBLE_SINCE
        one, no_tags = (b"\x02", b"\x00") if flexible else (b"\x00\x00\x00\x01", b"")
        self._before = b"%b%b%b%b%b" % (no_tags, one, topic, one, _partition_and_error.pack(partition, 0))
        self._has_log_start = version >= _LOG_START_SINCE
        if flexible:
            # No record errors, no message, no tags of partition and topic, no throttle time, no tags.
            self._end = b"\x01\x00\x00\x00" + bytes(4) + no_tags
        else:
            no_errors = b"\x00\x00\x00\x00\xff\xff" if version >= _RECORD_ERRORS_SINCE else b""
            self._end = no_errors + bytes(4)
        self._tags = len(no_tags)
        # Size, correlation id; base offset, time of append, log start.
        numbers = "qqq" if self._has_log_start else "qq"
        frame = struct.Struct(f">ii{len(self._before)}s{numbers}{len(self._end)}s")
        self._pack = frame.pack
        self._size = frame.size - 4

    def frame(self, correlation_id: int, base_offset: int, log_start_offset: int) -> bytes:
        if self._has_log_start:
            return self._pack(self._size, correlation_id, self._before, base_offset, -1, log_start_offset, self._end)
        return self._pack(self._size, correlation_id, self._before, base_offset, -1, self._end)

    def throttled(self, correlation_id: int, base_offset: int, log_start_offset: int, throttle_ms: int) -> bytes:
        frame = bytearray(self.frame(correlation_id, base_offset, log_start_offset))
        _int32.pack_into(frame, len(frame) - self._tags - _int32.size, throttle_ms)
        return bytes(frame)
