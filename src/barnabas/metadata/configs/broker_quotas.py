"""Broker configs of quotas and of client telemetry."""

from typing import Final

from barnabas.metadata.configs.definition import AtLeast, ConfigDef, ConfigType, Importance

INT = ConfigType.INT
LOW = Importance.LOW

DEFINITIONS: Final = (
    ConfigDef(
        "controller.quota.window.num",
        INT,
        "11",
        "The number of windows of a controller_mutation_rate quota, which sets its burst.",
        AtLeast(1),
        LOW,
    ),
    ConfigDef(
        "controller.quota.window.size.seconds",
        INT,
        "1",
        "The size of a window of a controller_mutation_rate quota.",
        AtLeast(1),
        LOW,
    ),
    ConfigDef(
        "quota.window.num", INT, "11", "The number of windows over which client quotas are measured.", AtLeast(1), LOW
    ),
    ConfigDef("quota.window.size.seconds", INT, "1", "The size of a window of a client quota.", AtLeast(1), LOW),
    ConfigDef("telemetry.max.bytes", INT, "1048576", "The largest push of client metrics.", AtLeast(1)),
)
