"""Allocates blocks of producer ids to brokers; no id is ever allocated twice."""

from typing import Final

from barnabas.controller.decisions.decision import Decision
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.records import ProducerIdsRecord
from barnabas.wire.errors import StaleBrokerEpoch

BLOCK_SIZE: Final = 1000
"""As in Kafka. A broker that stops leaves the rest of its block unused; there are 2^63 ids."""


def decide_allocate_producer_ids(image: ClusterImage, *, broker_id: int, broker_epoch: int) -> Decision[range]:
    broker = image.brokers.get(broker_id)
    if broker is None or broker.epoch != broker_epoch:
        raise StaleBrokerEpoch(f"broker {broker_id} is not registered at epoch {broker_epoch}")
    first = image.next_producer_id
    record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=first + BLOCK_SIZE)
    return Decision((record,), range(first, first + BLOCK_SIZE))
