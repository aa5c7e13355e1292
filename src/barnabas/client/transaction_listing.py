"""Which transactions are open under a prefix. Every broker knows those that it coordinates, so all are asked."""

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.retrying import COORDINATOR_BUSY
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_transactions import ListTransactionsRequest

_ONGOING = "Ongoing"


def open_transactions(cluster: Cluster, prefix: str) -> dict[str, int]:
    """Producer ids by transactional id. Those that are being completed are not among them: nobody can stop these."""
    found: dict[str, int] = {}
    for broker in cluster.brokers().brokers:
        for state in _of_broker(cluster, broker.broker_id):
            if state.transactional_id.startswith(prefix):
                found[state.transactional_id] = state.producer_id
    return found


def _of_broker(cluster: Cluster, node: int) -> tuple:  # type: ignore[type-arg]  # kio's entities
    # Brokers of later versions could filter by a pattern; a prefix test here serves all.
    request = ListTransactionsRequest(state_filters=(_ONGOING,))
    patience = cluster.patience()
    while True:
        answer = cluster.call("list_transactions", request, node=node)
        if answer.error_code not in COORDINATOR_BUSY or not patience.rest():
            break
    if answer.error_code != ErrorCode.none:
        raise Refused(answer.error_code, f"broker {node} does not list its transactions: {answer.error_code.name}")
    return tuple(answer.transaction_states)
