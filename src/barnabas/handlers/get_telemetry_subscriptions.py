"""GetTelemetrySubscriptions (0): which metrics a client has to push, how often, and with how many bytes at most.

Kafka advertises this API if a metrics reporter that accepts telemetry is configured. Here the broker itself accepts
it, and advertises the API to new connections while there is a subscription. A client that matches no subscription
asks again after five minutes.
"""

import datetime

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.handlers.telemetry import CODECS, Telemetry
from barnabas.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)


def handle(
    cluster: Cluster, telemetry: Telemetry, context: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    client = telemetry.subscribe(cluster.image, context, request.client_instance_id)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client.id,
        subscription_id=client.subscription_id,
        accepted_compression_types=CODECS,
        push_interval=datetime.timedelta(milliseconds=client.interval_ms),
        telemetry_max_bytes=cluster.configs.integer("telemetry.max.bytes"),
        delta_temporality=True,
        requested_metrics=client.metrics,
    )
