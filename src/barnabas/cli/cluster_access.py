"""Which cluster a command talks to, and how: from its options, the environment and the file of profiles.

The first of these that is given says where the cluster is: `--bootstrap-server`, `--profile`,
BARNABAS_BOOTSTRAP_SERVER, BARNABAS_CONNECTION_PROFILE, the profile `default`, and localhost:9092. A profile that is
chosen by name gives its settings even where the address comes from `--bootstrap-server`. The profile `default` never
does: nobody's password goes to an address that it was not meant for.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, NamedTuple

import typer

from barnabas.cli.pairs import parse_settings
from barnabas.cli.profiles import DEFAULT_PROFILE, read_profile

DEFAULT_SERVERS = "localhost:9092"
SERVERS_VARIABLE = "BARNABAS_BOOTSTRAP_SERVER"
PROFILE_VARIABLE = "BARNABAS_CONNECTION_PROFILE"

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT",
        help=f"Where the broker listens; several separated by commas.  [env: {SERVERS_VARIABLE}] "
        f"[default: {DEFAULT_SERVERS}]",
        show_default=False,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help=f"Connect as this profile of profiles.conf says.  [env: {PROFILE_VARIABLE}]",
        show_default=False,
    ),
]
ClientConfig = Annotated[
    list[str] | None,
    typer.Option(
        "--client-config",
        "-X",
        metavar="KEY=VALUE",
        help="A setting of the client, such as security.protocol=SSL; repeatable.",
    ),
]


class ClusterAccess(NamedTuple):
    servers: str
    profile: Mapping[str, str]
    """Client properties of the profile, by Kafka's names."""
    overrides: Mapping[str, str]
    """Those of `--client-config`, by Kafka's names or librdkafka's."""

    @property
    def properties(self) -> dict[str, str]:
        return {**self.profile, **self.overrides}


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say where the cluster is; what they say becomes its argument `access`."""
    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "access"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in (
            ("bootstrap_server", BootstrapServer),
            ("profile", Profile),
            ("client_config", ClientConfig),
        )
    ]

    @wraps(command)
    def run(
        *, bootstrap_server: str | None, profile: str | None, client_config: list[str] | None, **rest: object
    ) -> None:
        command(**rest, access=choose_access(bootstrap_server, profile, client_config))

    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + added
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


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
