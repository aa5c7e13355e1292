"""Records about the processes of the cluster: brokers and controllers come, change and go."""

import uuid

from barnabas.wire.entities import array, array_of, boolean, int8, int16, int32, int64, kafka_entity, string, uint16
from barnabas.wire.entities import uuid_field as uuid_


@kafka_entity(version=4, flexible=True)
class BrokerEndpoint:
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


@kafka_entity(version=4, flexible=True)
class BrokerFeature:
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@kafka_entity(version=4, flexible=True)
class RegisterBrokerRecord:
    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean()
    incarnation_id: uuid.UUID | None = uuid_()
    broker_epoch: int = int64()
    end_points: tuple[BrokerEndpoint, ...] = array()
    features: tuple[BrokerFeature, ...] = array()
    rack: str | None = string(None)
    fenced: bool = boolean(True)
    in_controlled_shutdown: bool = boolean()
    log_dirs: tuple[uuid.UUID, ...] = array_of("uuid", tag=0)
    cordoned_log_dirs: tuple[uuid.UUID, ...] | None = array_of("uuid", None, tag=1)
    """None until the broker has told by its heartbeats which directories take no new partitions."""


@kafka_entity(version=0, flexible=True)
class UnregisterBrokerRecord:
    broker_id: int = int32()
    broker_epoch: int = int64()


@kafka_entity(version=0, flexible=True)
class FenceBrokerRecord:
    """Older than BrokerRegistrationChangeRecord, which newer clusters write instead."""

    id: int = int32()
    epoch: int = int64()


@kafka_entity(version=0, flexible=True)
class UnfenceBrokerRecord:
    """Older than BrokerRegistrationChangeRecord, which newer clusters write instead."""

    id: int = int32()
    epoch: int = int64()


@kafka_entity(version=3, flexible=True)
class BrokerRegistrationChangeRecord:
    broker_id: int = int32()
    broker_epoch: int = int64()
    fenced: int = int8(0, tag=0)
    """-1: unfenced from now on; 0: no change; 1: fenced from now on."""
    in_controlled_shutdown: int = int8(0, tag=1)
    """0: no change; 1: the broker is shutting down."""
    log_dirs: tuple[uuid.UUID, ...] = array_of("uuid", tag=2)
    """Empty: no change."""
    cordoned_log_dirs: tuple[uuid.UUID, ...] | None = array_of("uuid", None, tag=3)
    """None: no change."""


@kafka_entity(version=0, flexible=True)
class ControllerEndpoint:
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


@kafka_entity(version=0, flexible=True)
class ControllerFeature:
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@kafka_entity(version=0, flexible=True)
class RegisterControllerRecord:
    controller_id: int = int32()
    incarnation_id: uuid.UUID | None = uuid_()
    zk_migration_ready: bool = boolean()
    end_points: tuple[ControllerEndpoint, ...] = array()
    features: tuple[ControllerFeature, ...] = array()
