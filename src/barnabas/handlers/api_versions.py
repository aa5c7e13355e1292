"""ApiVersions (0-4): the supported API versions, derived from the API table, and the finalised features.

An unknown version is answered in version 0 with UNSUPPORTED_VERSION and the whole list, so that the client can choose.
Versions 3 and later carry the client's name and version, which must look like names (KIP-511). The telemetry APIs are
listed only while there is a client metrics subscription, but they are always served.
"""

import re

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.metadata.features import QUORUM_FEATURES, SUPPORTED_FEATURES
from barnabas.wire.api_table import ADVERTISED_MIN, APIS, TELEMETRY_KEYS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

_API_KEYS = tuple(
    ApiVersion(
        api_key=api.key,
        min_version=ADVERTISED_MIN.get(api.key, api.version_min),
        max_version=api.version_max,
    )
    for api in APIS
)
_WITHOUT_TELEMETRY = tuple(each for each in _API_KEYS if each.api_key not in TELEMETRY_KEYS)


def handle(cluster: Cluster, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    api_keys = _API_KEYS if cluster.wants_telemetry else _WITHOUT_TELEMETRY
    if context.requested_version != context.api_version:
        return ApiVersionsResponse(error_code=ErrorCode.unsupported_version, api_keys=api_keys)
    if context.api_version >= 3 and not (
        _SOFTWARE_NAME.fullmatch(request.client_software_name)
        and _SOFTWARE_NAME.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.invalid_request)
    if context.client.software is not None and context.api_version >= 3:
        context.client.software.name = request.client_software_name
        context.client.software.version = request.client_software_version
    image = cluster.image
    return ApiVersionsResponse(
        api_keys=api_keys,
        supported_features=tuple(
            SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
            for name, (lowest, highest) in SUPPORTED_FEATURES.items()
            # Clients before version 4 cannot read a minimum of 0 (KAFKA-17492).
            if context.api_version >= 4 or lowest > 0
        ),
        finalized_features_epoch=image.offset,
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in {**image.features, **QUORUM_FEATURES}.items()
            # A metadata log written by Apache Kafka may finalise features that are not supported here.
            if name in SUPPORTED_FEATURES
        ),
    )
