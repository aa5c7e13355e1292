"""Whether share groups are enabled: the cluster's finalised `share.version`."""

from barnabas.handlers.services import Cluster
from barnabas.metadata.features import SHARE_VERSION
from barnabas.wire.errors import UnsupportedVersion


def check_share_groups(cluster: Cluster) -> None:
    if cluster.image.features.get(SHARE_VERSION, 0) < 1:
        raise UnsupportedVersion("share groups are not enabled: set the feature share.version to 1")
