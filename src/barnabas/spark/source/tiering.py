"""Whether a topic may use tiered storage (KIP-405)."""

from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

_TOPIC_RESOURCE: Final = 2
_CONFIG: Final = "remote.storage.enable"


def may_be_tiered(cluster: Cluster, topic: str) -> bool:
    """True also where the broker does not say: some users may read a topic but not its configs."""
    asked = DescribeConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=topic, configuration_keys=(_CONFIG,))
    try:
        answer = cluster.call("describe_configs", DescribeConfigsRequest(resources=(asked,)))
    except ClientError:
        return True
    (result,) = answer.results
    if result.error_code is not ErrorCode.none:
        return True
    return any(config.name == _CONFIG and config.value == "true" for config in result.configs)
