"""Transactions that nobody will end: of speculative losers, killed executors, dead drivers. They are aborted.

Until they are, readers of committed records wait in front of them, for up to the transaction timeout. Nothing is lost
if this fails: they time out.
"""

import logging

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_listing import open_transactions
from barnabas.spark.sink.exactly_once.names import Names

_log = logging.getLogger(__name__)


def sweep(cluster: Cluster, transactions: Transactions, names: Names, *, timeout_ms: int) -> set[str]:
    """Abort every transaction of the query's tasks that is open; call it when none of them is wanted any more.

    The ids of those that were.
    """
    try:
        left_over = set(open_transactions(cluster, names.task_prefix))
        for transactional_id in left_over:
            transactions.abandon(transactional_id, timeout_ms=timeout_ms)
    except ClientError as error:
        _log.warning(
            "transactions of %s may be left open; readers of committed records wait for up to %d ms: %s",
            names.base,
            timeout_ms,
            error,
        )
        return set()
    return left_over
