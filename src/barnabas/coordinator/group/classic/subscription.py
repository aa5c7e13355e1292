"""The consumer protocol inside JoinGroup and SyncGroup, as far as the coordinator reads it.

Each version adds fields at the end, so a version that is newer than we know is read as the newest one that we know. For
the topics of a classic group only the fields of version 0 are read, as in Kafka: some clients (kafka-go,
platformatic/kafka) claim version 1 and leave out the field that it added.
"""

from typing import Final, TypeVar

from barnabas.wire.codec import decode, encode_versioned
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.schema import Message, array, bytes_field, int32, since, string

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
_VERSION_MAX: Final = 3

M = TypeVar("M", bound=Message)


class ProtocolTopic(Message, versions=(0, _VERSION_MAX)):
    topic: str = string()
    partitions: tuple[int, ...] = array("int32")


class Subscription(Message, versions=(0, _VERSION_MAX)):
    topics: tuple[str, ...] = array("string")
    user_data: bytes | None = bytes_field(None)
    owned_partitions: tuple[ProtocolTopic, ...] = since(1, array(ProtocolTopic))
    generation_id: int = since(2, int32(-1))
    rack_id: str | None = since(3, string(None))


class ProtocolAssignment(Message, versions=(0, _VERSION_MAX)):
    assigned_partitions: tuple[ProtocolTopic, ...] = array(ProtocolTopic)
    user_data: bytes | None = bytes_field(None)


def subscribed_topics(subscription: bytes) -> tuple[str, ...]:
    """Ignores the version. Raises CorruptMessage if it is not a subscription."""
    return _decode(Subscription, subscription, 0).topics


def parse_subscription(subscription: bytes) -> Subscription:
    """Raises CorruptMessage if it is not a subscription."""
    return _decode(Subscription, subscription, min(_version(subscription), _VERSION_MAX))


def parse_assignment(assignment: bytes) -> ProtocolAssignment:
    """Raises CorruptMessage if it is not an assignment."""
    return _decode(ProtocolAssignment, assignment, min(_version(assignment), _VERSION_MAX))


def encode_assignment(assignment: ProtocolAssignment, subscription: bytes) -> bytes:
    """In the version of the member's subscription."""
    return encode_versioned(assignment, min(_version(subscription), _VERSION_MAX))


def _decode(entity_type: type[M], data: bytes, version: int) -> M:
    return decode(entity_type, data, 2, version=version)


def _version(data: bytes) -> int:
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2 or version < 0:
        raise CorruptMessage("not in the format of the consumer protocol")
    return version
