"""The consumers' own protocol, as far as a coordinator looks into it: which topics a member subscribes to.

Version 0 is the prefix of every later version, so it alone is read, whatever the member sent.
"""

from kio.schema.consumer_protocol_subscription.v0.data import ConsumerProtocolSubscription

from barnabas.wire.entities import decode_entity
from barnabas.wire.errors import CorruptMessage

CONSUMER_PROTOCOL_TYPE = "consumer"


def subscribed_topics(subscription: bytes) -> tuple[str, ...]:
    """CorruptMessage if it is not a subscription."""
    if len(subscription) < 2 or int.from_bytes(subscription[:2], "big", signed=True) < 0:
        raise CorruptMessage("not a subscription of the consumer protocol")
    return decode_entity(ConsumerProtocolSubscription, subscription, 2).topics
