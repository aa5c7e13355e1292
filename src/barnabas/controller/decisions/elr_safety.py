"""Config changes that the feature `eligible.leader.replicas.version` requires (KIP-966)."""

from typing import Final

from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.image import BROKER, ClusterImage
from barnabas.metadata.records import ConfigRecord

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"


def elr_safety_records(image: ClusterImage, configs: BrokerConfigs) -> list[ConfigRecord]:
    """Eligible leaders depend on `min.insync.replicas`, so it may only be set for the whole cluster."""
    name = MIN_INSYNC_REPLICAS
    records = [
        ConfigRecord(resource_type=BROKER, resource_name=resource, name=name, value=None)
        for (kind, resource), values in image.configs.by_resource.items()
        if kind == BROKER and resource and name in values
    ]
    if name not in image.configs.of(BROKER, ""):
        value = str(configs.integer(name))
        records.append(ConfigRecord(resource_type=BROKER, resource_name="", name=name, value=value))
    return records
