"""UpdateFeatures (0-2): raise or lower the finalised features of the cluster, all or nothing.

Up to version 1 the answer also lists each feature, with the error message "NONE" for success, as in Kafka.
"""

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.features import decide_update_features
from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


async def handle(
    cluster: Cluster, controller: Controller, context: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    try:
        await controller.decide(
            lambda image: decide_update_features(
                image,
                request,
                version=context.api_version,
                controller_id=cluster.node_id,
                configs=cluster.configs,
            )
        )
    except KafkaError as error:
        return UpdateFeaturesResponse(
            error_code=error.code,
            error_message=f"The update failed for all features since the following feature had an error: {error}",
        )
    names = dict.fromkeys(update.feature for update in request.feature_updates)
    return UpdateFeaturesResponse(
        results=tuple(UpdatableFeatureResult(feature=name, error_message="NONE") for name in names)
    )
