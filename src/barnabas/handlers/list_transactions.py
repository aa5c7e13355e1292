"""ListTransactions (0-2): the transactional ids that this broker coordinates, by state, producer, duration and name.

The regular expression for names (version 2) is matched by a worker and without backtracking. It supports what RE2
does: no backreferences and no lookaround, which Kafka allows here.
"""

from barnabas.coordinator.txn.describe import ids_matching
from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Runtime
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse


async def handle(
    runtime: Runtime, transactions: TransactionCoordinator, context: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    try:
        response = await transactions.list(request)
        if not request.transactional_id_pattern:
            return response
        return await _matching(runtime, request.transactional_id_pattern, response)
    except KafkaError as error:
        return ListTransactionsResponse(error_code=error.code)


async def _matching(runtime: Runtime, pattern: str, response: ListTransactionsResponse) -> ListTransactionsResponse:
    transactional_ids = [each.transactional_id for each in response.transaction_states]
    chosen = await runtime.workers.run(lambda: ids_matching(pattern, transactional_ids))
    return ListTransactionsResponse(
        unknown_state_filters=response.unknown_state_filters,
        transaction_states=tuple(each for each in response.transaction_states if each.transactional_id in chosen),
    )
