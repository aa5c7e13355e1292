"""Which transactions are open under a prefix, and whether some are over. A broker knows those that it coordinates."""

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
"""Markers are written in a millisecond or two where nothing is in their way."""
_PAUSE_S_MAX: Final = 0.1


def open_transactions(cluster: Cluster, prefix: str) -> dict[str, int]:
    """Producer ids by transactional id. Those that are being completed are not among them: nobody can stop these."""
    listed = _listed(cluster, _ONGOING)
    return {name: producer_id for name, producer_id in listed.items() if name.startswith(prefix)}


def wait_until_visible(cluster: Cluster, transactional_ids: Collection[str], *, limit_s: float) -> bool:
    """Wait until every marker of these is written; False if that takes longer than `limit_s`.

    The end of a transaction is answered when it is decided. Its markers follow, whatever happens, and only then do
    readers of committed records see it.
    """
    deadline, pause_s = time.monotonic() + limit_s, _PAUSE_S_FIRST
    while not _listed(cluster, *_COMPLETING).keys().isdisjoint(transactional_ids):
        if time.monotonic() + pause_s > deadline:
            return False
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _PAUSE_S_MAX)
    return True


def _listed(cluster: Cluster, *states: str) -> dict[str, int]:
    # Later brokers could filter by a pattern, too; to look at the names here serves all.
    request = ListTransactionsRequest(state_filters=states)
    found: dict[str, int] = {}
    for broker in cluster.brokers().brokers:
        answer = _ask(cluster, broker.broker_id, request)
        found.update({each.transactional_id: each.producer_id for each in answer.transaction_states})
    return found


def _ask(cluster: Cluster, node: int, request: ListTransactionsRequest) -> Any:
    patience = cluster.patience()
    while True:
        answer = cluster.call("list_transactions", request, node=node)
        if answer.error_code not in COORDINATOR_BUSY or not patience.rest():
            break
    if answer.error_code != ErrorCode.none:
        raise Refused(answer.error_code, f"broker {node} does not list its transactions: {answer.error_code.name}")
    return answer
