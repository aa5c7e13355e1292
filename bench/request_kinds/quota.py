"""Requests of a client that has a quota, far above what it uses: its traffic is measured, and never throttled."""

from collections.abc import Callable, Sequence
from typing import Final

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from bench.admin import connect_client
from bench.request_kinds import fetch, produce
from bench.request_kinds.kind import EQUAL, RequestKind, repeated
from bench.sockets import Refused

_CLIENT_ID: Final = "bench-with-quota"
_BYTES_PER_S: Final = 1e11


def _limited(make: Callable[[int], Sequence[object]]) -> Callable[[int], Sequence[object]]:
    def with_quota(port: int) -> Sequence[object]:
        _set_quota(port)
        return make(port)

    return with_quota


def _set_quota(port: int) -> None:
    client_id = EntityData(entity_type="client-id", entity_name=_CLIENT_ID)
    rates = tuple(OpData(key=key, value=_BYTES_PER_S) for key in ("producer_byte_rate", "consumer_byte_rate"))
    request = AlterClientQuotasRequest(entries=(EntryData(entity=(client_id,), ops=rates),))
    with connect_client(port) as client:
        (entry,) = client.call("alter_client_quotas", 1, request).entries
    if entry.error_code != ErrorCode.none:
        raise Refused(f"the quota was not set: {entry.error_message}")


KINDS: Final = (
    RequestKind(
        "Produce 12, one plain batch, quota set", repeated("produce", 12, _limited(produce.plain), _CLIENT_ID), EQUAL
    ),
    RequestKind(
        "Fetch 12 of one small record, quota set", repeated("fetch", 12, _limited(fetch.one_record), _CLIENT_ID), EQUAL
    ),
)
