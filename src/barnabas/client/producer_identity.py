"""Producer id and epoch, by which brokers tell retries from new batches."""

from datetime import timedelta
from typing import Final, NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest

_BUSY: Final = frozenset({ErrorCode.coordinator_load_in_progress, ErrorCode.coordinator_not_available})
# Means nothing where there is no transaction; older brokers refuse 0.
_NO_TRANSACTION: Final = timedelta(minutes=1)


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int
    transactional_id: str | None = None
    """Set: batches belong to the open transaction of this id."""


def idempotent_identity(cluster: Cluster) -> ProducerIdentity:
    """A new producer id, without transactions."""
    retry = cluster.retry_policy()
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout=_NO_TRANSACTION)
    while True:
        answer = cluster.call("init_producer_id", request)
        if answer.error_code == ErrorCode.none:
            return ProducerIdentity(answer.producer_id, answer.producer_epoch)
        if answer.error_code not in _BUSY or not retry.wait():
            raise Refused(answer.error_code, f"the broker gave no producer id: {answer.error_code.name}")
