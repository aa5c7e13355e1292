"""ListTransactions (0-2): the transactional ids that this broker coordinates, by state, producer, duration and name.

The regular expression for names (version 2) is matched by a worker and without backtracking. It supports what RE2
does: no backreferences and no lookaround, which Kafka allows here.
"""

from barnabas.coordinator.txn.describe import ids_matching
from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse


async def handle(context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    try:
        response = await context.broker.transactions.list(request)
        if not request.transactional_id_pattern:
            return response
        return await _matching(context, request.transactional_id_pattern, response)
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code)


async def _matching(
    context: RequestContext, pattern: str, response: ListTransactionsResponse
) -> ListTransactionsResponse:
    transactional_ids = [each.transactional_id for each in response.transaction_states]
    chosen = await context.broker.workers.run(lambda: ids_matching(pattern, transactional_ids))
    return ListTransactionsResponse(
        unknown_state_filters=response.unknown_state_filters,
        transaction_states=tuple(each for each in response.transaction_states if each.transactional_id in chosen),
    )
