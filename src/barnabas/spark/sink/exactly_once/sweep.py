"""Aborts transactions that nobody will end: of speculative attempts that lost, killed executors, dead drivers.

Otherwise read_committed consumers would wait for them, up to the transaction timeout. Nothing is lost if this fails:
they time out.
"""

import logging

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_listing import open_transactions
from barnabas.spark.sink.exactly_once.names import Names

_log = logging.getLogger(__name__)


def sweep(cluster: Cluster, transactions: Transactions, names: Names, *, timeout_ms: int) -> set[str]:
    """Abort every transaction of the query's tasks that is open; call it when none of them is needed any more.

    Returns the ids of those that were open.
    """
    try:
        left_over = set(open_transactions(cluster, names.task_prefix))
        for transactional_id in left_over:
            transactions.abandon(transactional_id, timeout_ms=timeout_ms)
    except ClientError as error:
        _log.warning(
            "transactions of %s may be left open; read_committed consumers wait for up to %d ms: %s",
            names.base,
            timeout_ms,
            error,
        )
        return set()
    return left_over
