"""DescribeTransactions (0): the state, producer, timeout and partitions of transactional ids."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse


async def handle(context: RequestContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    transactions = context.broker.transactions
    return DescribeTransactionsResponse(
        transaction_states=tuple([await transactions.describe(each) for each in request.transactional_ids])
    )
