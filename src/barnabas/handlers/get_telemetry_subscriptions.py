"""GetTelemetrySubscriptions (0): which metrics a client shall push, how often, and in how many bytes.

Kafka advertises this API where a metrics reporter that takes telemetry is configured. Here the broker itself takes it,
and advertises it while there is a subscription, to clients that connect from then on. A client that no subscription
asks for anything comes again after five minutes.
"""

import datetime

from barnabas.handlers.context import RequestContext
from barnabas.handlers.telemetry import CODECS
from barnabas.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)


def handle(context: RequestContext, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
    client = context.broker.telemetry.subscribe(context, request.client_instance_id)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client.id,
        subscription_id=client.subscription_id,
        accepted_compression_types=CODECS,
        push_interval=datetime.timedelta(milliseconds=client.interval_ms),
        telemetry_max_bytes=context.broker.configs.integer("telemetry.max.bytes"),
        delta_temporality=True,
        requested_metrics=client.metrics,
    )
