"""Looks up broker configs: first those that have an effect, then the table of accepted ones."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from barnabas.metadata.configs import (
    broker_consumer_groups,
    broker_groups,
    broker_log,
    broker_node,
    broker_quotas,
    broker_share_groups,
    broker_transactions,
)
from barnabas.metadata.configs.definition import ConfigDef

ACTING_BROKER_CONFIGS: Final = {
    definition.name: definition
    for definition in (
        *broker_node.DEFINITIONS,
        *broker_log.DEFINITIONS,
        *broker_groups.DEFINITIONS,
        *broker_consumer_groups.DEFINITIONS,
        *broker_quotas.DEFINITIONS,
        *broker_share_groups.DEFINITIONS,
        *broker_transactions.DEFINITIONS,
    )
}

# A config of one listener, or of one of its mechanisms: listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config.
_LISTENER_PREFIX: Final = re.compile(r"listener\.name\.[^.]+\.")


@cache
def all_broker_configs() -> Mapping[str, ConfigDef]:
    """All broker configs by name, sorted. Imports the table of accepted ones."""
    from barnabas.metadata.configs.broker_accepted import DEFINITIONS

    accepted = {definition.name: definition for definition in DEFINITIONS}
    return dict(sorted({**accepted, **ACTING_BROKER_CONFIGS}.items()))


def find_broker_config(name: str) -> ConfigDef | None:
    if definition := ACTING_BROKER_CONFIGS.get(name):
        return definition
    everything = all_broker_configs()
    return next((everything[candidate] for candidate in _base_names(name) if candidate in everything), None)


def _base_names(name: str) -> Iterator[str]:
    yield name
    if prefix := _LISTENER_PREFIX.match(name):
        yield (base := name[prefix.end() :])
        yield base.partition(".")[2]
