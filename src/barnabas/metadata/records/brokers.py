"""Records of brokers and controllers: registration, changes, unregistration."""

import uuid

from barnabas.wire.schema import Message, array, boolean, int8, int16, int32, int64, since, string, uint16, uuid_field


class BrokerEndpoint(Message, versions=(0, 4), flexible_since=0):
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class BrokerFeature(Message, versions=(0, 4), flexible_since=0):
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterBrokerRecord(Message, versions=(0, 4), flexible_since=0):
    broker_id: int = int32()
    is_migrating_zk_broker: bool = since(2, boolean())
    incarnation_id: uuid.UUID | None = uuid_field()
    broker_epoch: int = int64()
    end_points: tuple[BrokerEndpoint, ...] = array(BrokerEndpoint)
    features: tuple[BrokerFeature, ...] = array(BrokerFeature)
    rack: str | None = string(None)
    fenced: bool = boolean(True)
    in_controlled_shutdown: bool = since(1, boolean())
    log_dirs: tuple[uuid.UUID, ...] = array("uuid", tag=0)
    cordoned_log_dirs: tuple[uuid.UUID, ...] | None = array("uuid", None, tag=1)
    """None until the broker has reported which directories get no new partitions."""


class UnregisterBrokerRecord(Message, versions=(0, 0), flexible_since=0):
    broker_id: int = int32()
    broker_epoch: int = int64()


class FenceBrokerRecord(Message, versions=(0, 0), flexible_since=0):
    """Newer clusters write BrokerRegistrationChangeRecord instead."""

    id: int = int32()
    epoch: int = int64()


class UnfenceBrokerRecord(Message, versions=(0, 0), flexible_since=0):
    """Newer clusters write BrokerRegistrationChangeRecord instead."""

    id: int = int32()
    epoch: int = int64()


class BrokerRegistrationChangeRecord(Message, versions=(0, 3), flexible_since=0):
    broker_id: int = int32()
    broker_epoch: int = int64()
    fenced: int = int8(0, tag=0)
    """-1: unfence; 0: no change; 1: fence."""
    in_controlled_shutdown: int = int8(0, tag=1)
    """0: no change; 1: the broker is shutting down."""
    log_dirs: tuple[uuid.UUID, ...] = array("uuid", tag=2)
    """Empty: no change."""
    cordoned_log_dirs: tuple[uuid.UUID, ...] | None = array("uuid", None, tag=3)
    """None: no change."""


class ControllerEndpoint(Message, versions=(0, 0), flexible_since=0):
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class ControllerFeature(Message, versions=(0, 0), flexible_since=0):
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterControllerRecord(Message, versions=(0, 0), flexible_since=0):
    controller_id: int = int32()
    incarnation_id: uuid.UUID | None = uuid_field()
    zk_migration_ready: bool = boolean()
    end_points: tuple[ControllerEndpoint, ...] = array(ControllerEndpoint)
    features: tuple[ControllerFeature, ...] = array(ControllerFeature)
