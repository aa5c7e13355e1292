"""DescribeTransactions (0): the state, producer, timeout and partitions of transactional ids."""

import datetime

from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

PIECES = (Pieces("transactional_ids", answers="transaction_states", size=100),)
_NEVER = datetime.datetime.fromtimestamp(0, datetime.UTC)


async def handle(
    transactions: TransactionCoordinator, context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    states = [await _describe(transactions, transactional_id) for transactional_id in request.transactional_ids]
    return DescribeTransactionsResponse(transaction_states=tuple(states))


async def _describe(transactions: TransactionCoordinator, transactional_id: str) -> TransactionState:
    try:
        return await transactions.describe(transactional_id)
    except KafkaError as error:
        return TransactionState(transactional_id=transactional_id, error_code=error.code, transaction_start_time=_NEVER)
