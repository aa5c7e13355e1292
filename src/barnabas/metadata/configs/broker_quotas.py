"""Broker configs of quotas and of what clients tell about themselves."""

from typing import Final

from barnabas.metadata.configs.definition import AtLeast, ConfigDef, ConfigType, Importance

INT = ConfigType.INT
LOW = Importance.LOW

DEFINITIONS: Final = (
    ConfigDef(
        "controller.quota.window.num",
        INT,
        "11",
        "How many windows the bucket of a controller_mutation_rate quota holds.",
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
        "quota.window.num", INT, "11", "Over how many windows the rate of a client is measured.", AtLeast(1), LOW
    ),
    ConfigDef("quota.window.size.seconds", INT, "1", "The size of a window of a client quota.", AtLeast(1), LOW),
    ConfigDef("telemetry.max.bytes", INT, "1048576", "The most that a client may push of its metrics.", AtLeast(1)),
)
