"""What the handlers of transactions share."""

from barnabas.wire.errors import ErrorCode, KafkaError, ProducerFenced

PRODUCER_FENCED_SINCE = 2
"""The version of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn that can say PRODUCER_FENCED."""


def code_of(error: KafkaError, api_version: int, *, producer_fenced_since: int = PRODUCER_FENCED_SINCE) -> ErrorCode:
    """Older clients know one word for every producer whose time is over."""
    if isinstance(error, ProducerFenced) and api_version < producer_fenced_since:
        return ErrorCode.invalid_producer_epoch
    return error.code
