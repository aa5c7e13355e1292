"""DescribeTransactions (0): the state, producer, timeout and partitions of transactional ids."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse

PIECES = (Pieces("transactional_ids", answers="transaction_states", size=100),)


async def handle(context: RequestContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    transactions = context.broker.transactions
    return DescribeTransactionsResponse(
        transaction_states=tuple([await transactions.describe(each) for each in request.transactional_ids])
    )
