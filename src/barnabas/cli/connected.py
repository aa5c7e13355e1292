"""The options of commands that connect to a cluster."""

from collections.abc import Callable
from functools import wraps
from typing import Annotated

import typer

from barnabas.cli.cluster_access import DEFAULT_SERVERS, PROFILE_VARIABLE, SERVERS_VARIABLE, choose_access
from barnabas.cli.shared_options import replace_parameter

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
        help=f"A profile of profiles.conf to connect with.  [env: {PROFILE_VARIABLE}]",
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


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the connection to a command, and pass their result to it as `access`."""

    @wraps(command)
    def run(
        *, bootstrap_server: str | None, profile: str | None, client_config: list[str] | None, **rest: object
    ) -> None:
        command(**rest, access=choose_access(bootstrap_server, profile, client_config))

    options = {"bootstrap_server": BootstrapServer, "profile": Profile, "client_config": ClientConfig}
    return replace_parameter(command, "access", {name: (each, None) for name, each in options.items()}, run)
