"""The types of records in __consumer_offsets: a number, the format of the key, the formats of the value.

Key: type (int16), then the body of the key. Value: version (int16), then the body; none is a tombstone. The class of
the key identifies the type: a `StateRecord` is stored, found and replayed by it.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from barnabas.coordinator.core.ports import KeyValue
from barnabas.wire.codec import decode, decode_versioned, encode, encode_versioned

TEXT_BYTES_MAX: Final = 2**15 - 1
"""The longest string in UTF-8 that fits into these records. Requests of later versions can carry longer ones."""


def fits(text: str | None) -> bool:
    return text is None or len(text) * 4 <= TEXT_BYTES_MAX or len(text.encode()) <= TEXT_BYTES_MAX


class StateRecord(NamedTuple):
    key: Any
    value: Any | None


class ValueCodec(NamedTuple):
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


class RecordFormat(NamedTuple):
    type_id: int
    key: type[Any]
    value: type[Any]
    """In all its versions, any of which can be read."""
    written_version: int = 0
    codec: ValueCodec | None = None
    """Only if the declared format is not enough."""

    def encode(self, record: StateRecord) -> KeyValue:
        key = self.type_id.to_bytes(2, "big") + encode(record.key)
        if record.value is None:
            return KeyValue(key, None)
        if self.codec is not None:
            return KeyValue(key, self.codec.encode(record.value))
        return KeyValue(key, encode_versioned(record.value, self.written_version))

    def decode(self, key: bytes, value: bytes | None) -> StateRecord:
        stored_key = decode(self.key, key, 2)
        if value is None:
            return StateRecord(stored_key, None)
        if self.codec is not None:
            return StateRecord(stored_key, self.codec.decode(value))
        return StateRecord(stored_key, decode_versioned(self.value, value))
