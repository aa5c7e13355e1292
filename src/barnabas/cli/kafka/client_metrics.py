"""`barnabas kafka-client-metrics`: Kafka's ClientMetricsCommand, on the config resource of subscriptions."""

import argparse
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence

from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, add_connection
from barnabas.cli.kafka.resource_configs import CLIENT_METRICS, alter_resource, describe_resources, list_resources
from barnabas.cli.wire_client import Cluster

_SETTINGS = ("interval.ms", "match", "metrics")


def parser() -> ScriptParser:
    found = ScriptParser("kafka-client-metrics", "Choose which clients push which metrics.")
    add_connection(found)
    found.switch("--list", "list the subscriptions")
    found.switch("--describe", "show subscriptions")
    found.switch("--alter", "create or change a subscription")
    found.switch("--delete", "delete a subscription")
    found.value("--name", "the subscription", metavar="NAME")
    found.switch("--generate-name", "with --alter: generate a name")
    found.value("--interval", "how often clients push, in ms; empty for the default", metavar="MS")
    found.value("--match", "which clients, as client_id=a.*,client_software_name=b", metavar="NAME=PATTERN,...")
    found.value("--metrics", "which metrics, by prefix of their names", metavar="PREFIX,...")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    if options.list + options.describe + options.alter + options.delete != 1:
        reader.error("Command must include exactly one action: --alter, --delete, --describe, --list")
    reader.require(options, "--bootstrap-server")
    if options.alter and (options.name is None) == (not options.generate_name):
        reader.error("One of --name or --generate-name must be specified with --alter")
    if options.delete and options.name is None:
        reader.error("missing required argument --name")
    with connect(options) as cluster:
        if options.list:
            print("\n".join(list_resources(cluster, CLIENT_METRICS)))
        elif options.describe:
            _describe(cluster, options.name)
        elif options.alter:
            _alter(reader, cluster, options)
        else:
            alter_resource(cluster, CLIENT_METRICS, options.name, {}, _SETTINGS)
            print(f"Deleted client metrics config for {options.name}.")
    return 0


def _describe(cluster: Cluster, name: str | None) -> None:
    existing = list_resources(cluster, CLIENT_METRICS)
    if name is not None and name not in existing:
        print(f"The client metric resource {name} doesn't exist and doesn't have dynamic config.")
        return
    for each in existing if name is None else [name]:
        print(f"Client metrics configs for {each} are:")
        for entry in sorted(describe_resources(cluster, CLIENT_METRICS, [each])[each], key=lambda one: str(one.name)):
            print(f"  {entry.name}={entry.value}")


def _alter(reader: ScriptParser, cluster: Cluster, options: argparse.Namespace) -> None:
    given = {"interval.ms": options.interval, "match": options.match, "metrics": options.metrics}
    changes = {name: value for name, value in given.items() if value}
    resets = [name for name, value in given.items() if value == ""]
    if not changes and not resets:
        reader.error("One of --interval, --match or --metrics must be specified with --alter")
    name = options.name or urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    alter_resource(cluster, CLIENT_METRICS, name, changes, resets)
    print(f"Altered client metrics config for {name}.")
