"""InitProducerId (0-5): an id and an epoch for an idempotent producer.

A producer that lost track of its sequence asks again with its old id; it gets a new id, as from Kafka, where only
transactional ids keep theirs. Transactional ids are refused until transactions exist.
"""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import InvalidRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def handle(context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        raise InvalidRequest("transactions are not supported yet: unset transactional.id")
    return InitProducerIdResponse(producer_id=await context.broker.producer_ids.next(), producer_epoch=0)
