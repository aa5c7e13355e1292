"""Decodes an answer and looks for errors anywhere in it."""

import struct
from datetime import timedelta
from typing import Final

from barnabas.wire.api_table import APIS
from barnabas.wire.codec import decode_response, is_flexible
from barnabas.wire.errors import ErrorCode
from barnabas.wire.schema import Message
from bench.sockets import Refused

_NAMES: Final = {api.key: api.name for api in APIS}
_API_VERSIONS: Final = "api_versions"  # its answers have the oldest header in every version


def api_key(frame: bytes | bytearray) -> int:
    (key,) = struct.unpack_from(">h", frame, 4)
    return int(key)


def expect_success(frame: bytes | bytearray, answer: bytes) -> None:
    """The answer to this request may have no error code in it, and no throttle time."""
    name = _NAMES[api_key(frame)]
    (version,) = struct.unpack_from(">h", frame, 6)
    has_tags = name != _API_VERSIONS and is_flexible(name, version)
    _expect_success(decode_response(name, version, answer[4 + 4 + has_tags :]), f"{name} {version}")


def _expect_success(value: object, title: str) -> None:
    if isinstance(value, ErrorCode) and value is not ErrorCode.none:
        raise Refused(f"{title} was answered with {value.name}")
    if isinstance(value, tuple):
        for each in value:
            _expect_success(each, title)
    elif isinstance(value, Message):
        if getattr(value, "throttle_time", timedelta()):
            raise Refused(f"{title} was throttled")
        for name in value.layout.fields:
            _expect_success(getattr(value, name), title)
