"""Error codes for the handlers of transactions."""

from barnabas.wire.errors import ErrorCode, KafkaError, ProducerFenced

PRODUCER_FENCED_SINCE = 2
"""The first version of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn that knows PRODUCER_FENCED."""


def code_of(error: KafkaError, api_version: int, *, producer_fenced_since: int = PRODUCER_FENCED_SINCE) -> ErrorCode:
    """Older clients get INVALID_PRODUCER_EPOCH for PRODUCER_FENCED."""
    if isinstance(error, ProducerFenced) and api_version < producer_fenced_since:
        return ErrorCode.invalid_producer_epoch
    return error.code
