"""The way from a script's flags to a cluster."""

import argparse

from barnabas.cli.kafka.options import UsageError
from barnabas.cli.property_file import read_property_file
from barnabas.cli.wire_client import DEFAULT_TIMEOUT_S, Cluster

PLAINTEXT = "PLAINTEXT"


def connect(options: argparse.Namespace, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Cluster:
    properties = {} if options.command_config is None else read_property_file(options.command_config)
    protocol = properties.get("security.protocol", PLAINTEXT)
    if protocol != PLAINTEXT:
        raise UsageError(
            f"--command-config asks for security.protocol={protocol}, and this script speaks {PLAINTEXT} only",
            hint="try: barnabas topic or barnabas group with -X security.protocol=...",
        )
    timeout_ms = properties.get("request.timeout.ms")
    return Cluster(
        options.bootstrap_server,
        client_id=properties.get("client.id", "barnabas-cli"),
        timeout_s=int(timeout_ms) / 1000 if timeout_ms and timeout_ms.isdecimal() else timeout_s,
    )
