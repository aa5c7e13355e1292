"""Where the outcome of one item of a request becomes the error fields of its answer."""

from typing import Any

from barnabas.wire.errors import ErrorCode, KafkaError


def error_code(error: KafkaError | None) -> ErrorCode:
    return ErrorCode.none if error is None else error.code


def error_fields(error: KafkaError | None) -> dict[str, Any]:
    """For answers that have a message beside the code."""
    return {} if error is None else {"error_code": error.code, "error_message": str(error)}
