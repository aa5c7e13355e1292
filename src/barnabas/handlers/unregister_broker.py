"""UnregisterBroker (0): forget a broker that will not come back.

Kafka also unregisters a running broker, which then loses its partitions; here that is refused.
"""

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.unregister_broker import decide_unregister_broker
from barnabas.handlers.context import RequestContext
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


async def handle(
    controller: Controller, context: RequestContext, request: UnregisterBrokerRequest
) -> UnregisterBrokerResponse:
    await controller.decide(lambda image: decide_unregister_broker(image, request.broker_id))
    return UnregisterBrokerResponse()
