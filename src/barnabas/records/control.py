"""Control records: what brokers write into a log for themselves, each alone with its kind in a control batch.

The key of such a record says what it is: version i16, type i16. The values are messages of their own, declared by the
rooms that write them. Types that are not known here are left for newer readers.
"""

from enum import IntEnum
from struct import Struct

from barnabas.wire.errors import InvalidRecord

_KEY_STRUCT = Struct(">hh")
_KEY_VERSION = 0


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def encode_control_key(control_type: ControlType) -> bytes:
    return _KEY_STRUCT.pack(_KEY_VERSION, control_type)


def decode_control_key(key: bytes | None) -> ControlType | None:
    """None: a type from the future, to be skipped. Later versions of the key begin like this one."""
    if key is None or len(key) < _KEY_STRUCT.size:
        raise InvalidRecord(f"a control record's key is version and type, not {key!r}")
    version, number = _KEY_STRUCT.unpack_from(key)
    if version < 0:
        raise InvalidRecord(f"a control record's key has version {version}")
    try:
        return ControlType(number)
    except ValueError:
        return None
