"""InitProducerId (0-5): a producer id and epoch for an idempotent producer, or for one with a transactional id.

An idempotent producer that lost track of its sequence asks again with its old id, and gets a new one, as from Kafka;
only transactional producers keep theirs. Version 6 (two-phase commit) is unstable in Kafka 4.3 and not offered.
"""

import datetime

from barnabas.controller.producer_ids import ProducerIdSource
from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.transactional import code_of
from barnabas.wire.errors import InvalidRequest, KafkaError
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_PRODUCER_FENCED_SINCE = 4
_MILLISECOND = datetime.timedelta(milliseconds=1)


async def handle(
    producer_ids: ProducerIdSource,
    transactions: TransactionCoordinator,
    context: RequestContext,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse:
    try:
        if (request.producer_id == -1) != (request.producer_epoch == -1):
            raise InvalidRequest("producer id and epoch are given together or not at all")
        if request.transactional_id is None:
            return InitProducerIdResponse(producer_id=await producer_ids.next(), producer_epoch=0)
        return await _take_over(transactions, request, request.transactional_id)
    except KafkaError as error:
        code = code_of(error, context.api_version, producer_fenced_since=_PRODUCER_FENCED_SINCE)
        return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)


async def _take_over(
    transactions: TransactionCoordinator, request: InitProducerIdRequest, transactional_id: str
) -> InitProducerIdResponse:
    from barnabas.coordinator.txn.init_producer_id import InitProducerId
    from barnabas.coordinator.txn.transaction import ProducerIdAndEpoch

    expected = None
    if request.producer_id != -1:
        expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    producer = await transactions.init_producer_id(
        InitProducerId(
            transactional_id,
            request.transaction_timeout // _MILLISECOND,
            expected,
            enable_two_phase_commit=request.enable2_pc,
            keep_prepared=request.keep_prepared_txn,
        )
    )
    return InitProducerIdResponse(producer_id=producer.producer_id, producer_epoch=producer.producer_epoch)
