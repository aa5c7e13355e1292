"""Reads the settings and limits of connections from the broker configs."""

from barnabas.metadata.configs import BrokerConfigs
from barnabas.node.listeners import comma_separated
from barnabas.server.connection import ConnectionSettings
from barnabas.server.limits import ConnectionLimits
from barnabas.server.request_memory import RequestMemory


def connection_settings(configs: BrokerConfigs) -> ConnectionSettings:
    """Call it once: all listeners of a broker share the memory for large requests."""
    queued_bytes_max = configs.integer("queued.max.request.bytes")
    return ConnectionSettings(
        frame_bytes_max=configs.integer("socket.request.max.bytes"),
        in_flight_max=configs.integer("queued.max.requests"),
        receive_buffer_bytes=configs.integer("socket.receive.buffer.bytes"),
        send_buffer_bytes=configs.integer("socket.send.buffer.bytes"),
        memory=RequestMemory(queued_bytes_max) if queued_bytes_max > 0 else None,
    )


def connection_limits(configs: BrokerConfigs) -> ConnectionLimits:
    overrides = {}
    for pair in comma_separated(configs, "max.connections.per.ip.overrides"):
        ip, _, count = pair.rpartition(":")
        overrides[ip] = int(count)
    return ConnectionLimits(
        total_max=configs.integer("max.connections"),
        per_ip_max=configs.integer("max.connections.per.ip"),
        per_ip_overrides=overrides,
        creations_per_second_max=configs.integer("max.connection.creation.rate"),
    )
