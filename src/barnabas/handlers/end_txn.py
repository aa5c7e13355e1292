"""EndTxn (0-5): commit or abort a transaction. From version 5 on, the answer carries the producer's next epoch.

It is answered once the outcome is durable. The markers that make it visible to consumers follow right after, and are
written even if the broker restarts in between.
"""

from barnabas.coordinator.txn.end_txn import EndTxn
from barnabas.coordinator.txn.transaction import EPOCH_BUMP_SINCE
from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.transactional import code_of
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

_EPOCH_BUMP_SINCE = 5


async def handle(
    transactions: TransactionCoordinator, context: RequestContext, request: EndTxnRequest
) -> EndTxnResponse:
    ending = EndTxn(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        request.committed,
        EPOCH_BUMP_SINCE if context.api_version >= _EPOCH_BUMP_SINCE else 0,
    )
    try:
        producer = await transactions.end(ending)
    except KafkaError as error:
        return EndTxnResponse(error_code=code_of(error, context.api_version))
    return EndTxnResponse(producer_id=producer.producer_id, producer_epoch=producer.producer_epoch)
