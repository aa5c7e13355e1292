"""UnregisterBroker (0): forget a broker that will not come back.

Kafka also unregisters a running broker, which then loses its partitions; here that is refused.
"""

from barnabas.controller.unregister_broker import decide_unregister_broker
from barnabas.handlers.context import RequestContext
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


async def handle(context: RequestContext, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    await context.broker.controller.decide(lambda image: decide_unregister_broker(image, request.broker_id))
    return UnregisterBrokerResponse()
