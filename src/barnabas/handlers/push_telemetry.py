"""PushTelemetry (0): a client's metrics, in OpenTelemetry's form.

The last push of each client is kept in memory. Each push is logged to `barnabas.client_metrics`: the client and the
size at INFO, every value at DEBUG. The logger's level can be set while the broker runs:

    kafka-configs --alter --entity-type broker-loggers --entity-name 1 --add-config barnabas.client_metrics=DEBUG
"""

import logging

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster, Runtime
from barnabas.handlers.telemetry import Telemetry
from barnabas.records.compression import decompress
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

logger = logging.getLogger("barnabas.client_metrics")

# How much a push may grow when decompressed: enough for repetitive metrics, too little for a decompression bomb.
_EXPANSION_MAX = 16


async def handle(
    cluster: Cluster, runtime: Runtime, telemetry: Telemetry, context: RequestContext, request: PushTelemetryRequest
) -> PushTelemetryResponse:
    bytes_max = cluster.configs.integer("telemetry.max.bytes")
    client = telemetry.admit(cluster.image, context, request, bytes_max=bytes_max)
    if not request.metrics:
        return PushTelemetryResponse()
    payload, codec = request.metrics, request.compression_type
    try:
        pushed = (
            await runtime.workers.run(lambda: decompress(codec, payload, max_bytes=bytes_max * _EXPANSION_MAX))
            if codec
            else payload
        )
    except KafkaError as error:
        logger.warning("metrics of client %s at %s cannot be read: %s", context.client_id, context.client, error)
        client.last_error = ErrorCode.invalid_record
        return PushTelemetryResponse(error_code=ErrorCode.invalid_record)
    telemetry.keep(client, pushed)
    logger.info("client %s at %s pushed %d bytes of metrics", context.client_id, context.client, len(pushed))
    if logger.isEnabledFor(logging.DEBUG):
        from barnabas.handlers.otlp import read_metrics

        for metric in await runtime.workers.run(lambda: read_metrics(pushed)):
            logger.debug("client %s: %s", context.client_id, metric)
    return PushTelemetryResponse()
