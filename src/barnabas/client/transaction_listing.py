"""Lists open transactions, and waits for markers. Each broker lists the transactions that it coordinates."""

import time
from collections.abc import Collection
from typing import Any, Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.retrying import COORDINATOR_BUSY
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_transactions import ListTransactionsRequest

_ONGOING: Final = "Ongoing"
_COMPLETING: Final = ("PrepareCommit", "PrepareAbort")
_PAUSE_S_FIRST: Final = 0.002
"""Markers usually take a millisecond or two."""
_PAUSE_S_MAX: Final = 0.1


def open_transactions(cluster: Cluster, prefix: str) -> dict[str, int]:
    """Producer ids by transactional id, without transactions that are being completed."""
    listed = _listed(cluster, _ONGOING)
    return {name: producer_id for name, producer_id in listed.items() if name.startswith(prefix)}


def wait_until_visible(cluster: Cluster, transactional_ids: Collection[str], *, limit_s: float) -> bool:
    """Wait until all markers of these are written; False if that takes longer than `limit_s`.

    EndTxn returns when the outcome is decided. read_committed consumers see it when its markers are written.
    """
    deadline, pause_s = time.monotonic() + limit_s, _PAUSE_S_FIRST
    while not _listed(cluster, *_COMPLETING).keys().isdisjoint(transactional_ids):
        if time.monotonic() + pause_s > deadline:
            return False
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _PAUSE_S_MAX)
    return True


def _listed(cluster: Cluster, *states: str) -> dict[str, int]:
    # Newer brokers can filter by a pattern; filtering here works with all.
    request = ListTransactionsRequest(state_filters=states)
    found: dict[str, int] = {}
    for broker in cluster.brokers().brokers:
        answer = _ask(cluster, broker.broker_id, request)
        found.update({each.transactional_id: each.producer_id for each in answer.transaction_states})
    return found


def _ask(cluster: Cluster, node: int, request: ListTransactionsRequest) -> Any:
    retry = cluster.retry_policy()
    while True:
        answer = cluster.call("list_transactions", request, node=node)
        if answer.error_code not in COORDINATOR_BUSY or not retry.wait():
            break
    if answer.error_code != ErrorCode.none:
        raise Refused(answer.error_code, f"broker {node} does not list its transactions: {answer.error_code.name}")
    return answer
