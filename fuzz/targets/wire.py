"""Bytes from the socket: frames with their headers, requests of every API and version, and the responses that our own
clients read."""

import random
import struct
from typing import Final

from barnabas.testing.client import request_header
from barnabas.wire.api_table import APIS, BY_KEY, PRODUCE
from barnabas.wire.codec import (
    REQUEST_ELEMENTS_MAX,
    decode_request,
    decode_response,
    encode_response,
    is_flexible,
    message_class,
    request_reader_in_place,
)
from barnabas.wire.errors import KafkaError
from barnabas.wire.frame import read_request_header, skip_tagged_fields
from barnabas.wire.reader import UNBOUNDED, Read, message_reader
from fuzz.random_messages import RandomMessages
from fuzz.target import Target

_VERSIONS: Final = [(api, version) for api in APIS for version in range(api.version_min, api.version_max + 1)]
_SEEDS_EACH: Final = 3


def _frames(rng: random.Random) -> list[bytes]:
    messages = RandomMessages(rng)
    return [
        request_header(api.name, version, rng.getrandbits(31), rng.choice((None, "", "client", "grüße")))
        + messages.encoded_request(api.name, version)
        for api, version in _VERSIONS
        for _ in range(_SEEDS_EACH)
    ]


def _read_frame(data: bytes) -> None:
    payload = memoryview(data)
    try:
        api_key, version, _, _, end = read_request_header(payload)
        api = BY_KEY.get(api_key)
        if api is None or not api.serves(version):
            return
        body_start = skip_tagged_fields(payload, end) if is_flexible(api.name, version) else end
        if api is PRODUCE:
            request_reader_in_place(api.name, version)(payload, body_start)
        else:
            decode_request(api.name, version, payload, body_start)
    except KafkaError:
        return


_PREFIX: Final = struct.Struct(">H")


def _responses(rng: random.Random) -> list[bytes]:
    messages = RandomMessages(rng)
    return [
        _PREFIX.pack(index) + encode_response(api.name, version, messages.response(api.name, version))
        for index, (api, version) in enumerate(_VERSIONS)
        for _ in range(_SEEDS_EACH)
    ]


def _read_response(data: bytes) -> None:
    if len(data) < _PREFIX.size:
        return
    api, version = _VERSIONS[_PREFIX.unpack_from(data)[0] % len(_VERSIONS)]
    try:
        decode_response(api.name, version, data, _PREFIX.size)
    except KafkaError:
        return


def _readers(kind: str, elements_max: int) -> list[Read]:
    return [message_reader(message_class(api.name, kind), version, elements_max) for api, version in _VERSIONS]


TARGETS: Final = (
    Target("requests", _frames, _read_frame, lambda: _readers("request", REQUEST_ELEMENTS_MAX)),
    Target("responses", _responses, _read_response, lambda: _readers("response", UNBOUNDED)),
)
