"""ListTransactions (0-2): the transactional ids that this broker coordinates, by state, producer, duration and name.

Names are matched by Python's regular expressions, which understand nearly all that Java's do.
"""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse


async def handle(context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    try:
        return await context.broker.transactions.list(request)
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code)
