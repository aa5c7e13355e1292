"""Connects to the cluster of a script's flags."""

import argparse

from barnabas.cli.property_file import read_property_file
from barnabas.cli.wire_client import DEFAULT_TIMEOUT_S, Cluster


def connect(options: argparse.Namespace, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Cluster:
    """With the properties of --command-config: TLS and logins, as for Kafka's own scripts."""
    properties = {} if options.command_config is None else read_property_file(options.command_config)
    return Cluster(options.bootstrap_server, timeout_s=timeout_s, properties=properties)
