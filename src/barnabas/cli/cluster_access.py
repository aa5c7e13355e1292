"""Which cluster a command connects to, and how: from its options, the environment and the profiles.

The first of these that is given says where the cluster is: `--bootstrap-server`, `--profile`,
BARNABAS_BOOTSTRAP_SERVER, BARNABAS_CONNECTION_PROFILE, the profile `default`, and localhost:9092. A profile that is
chosen with `--profile` gives its settings even if the address comes from `--bootstrap-server`. Otherwise its settings
are used with its own address only, so that no password is sent to another cluster.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.cli.pairs import parse_settings
from barnabas.cli.profiles import DEFAULT_PROFILE, read_profile

DEFAULT_SERVERS = "localhost:9092"
SERVERS_VARIABLE = "BARNABAS_BOOTSTRAP_SERVER"
PROFILE_VARIABLE = "BARNABAS_CONNECTION_PROFILE"


class ClusterAccess(NamedTuple):
    servers: str
    profile: Mapping[str, str]
    """Client properties of the profile, by Kafka's names."""
    overrides: Mapping[str, str]
    """Those of `--client-config`, by Kafka's names or librdkafka's."""

    @property
    def properties(self) -> dict[str, str]:
        return {**self.profile, **self.overrides}


def choose_access(servers: str | None, profile: str | None, client_config: list[str] | None) -> ClusterAccess:
    environment = {name: os.environ.get(name) or None for name in (SERVERS_VARIABLE, PROFILE_VARIABLE)}
    if profile is None and servers is None:
        servers = environment[SERVERS_VARIABLE]
    chosen = profile or (environment[PROFILE_VARIABLE] if servers is None else None)
    if chosen is not None:
        settings = read_profile(chosen)
    else:
        settings = read_profile(DEFAULT_PROFILE, missing_ok=True) if servers is None else {}
    address = settings.pop("bootstrap.servers", environment[SERVERS_VARIABLE] or DEFAULT_SERVERS)
    return ClusterAccess(servers or address, settings, parse_settings("--client-config", client_config))
