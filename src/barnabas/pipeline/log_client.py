"""A project's way to its log without Spark: for commands that only look, or send a few records."""

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BadProperty, ClientError
from barnabas.client.properties import client_settings
from barnabas.pipeline.project.model import Log
from barnabas.spark.errors import UserError
from barnabas.spark.options.kafka import source_properties
from barnabas.spark.source.failures import for_people

PATIENCE_S = 10.0
"""An address that is wrong is likelier than a broker that restarts; a person waits."""


@contextmanager
def connected(log: Log, *, patience_s: float = PATIENCE_S) -> Iterator[Cluster]:
    """What the client says about a failure is told as a mistake, with the next step."""
    try:
        settings = client_settings(source_properties(log.spark_options()))
    except BadProperty as problem:
        raise UserError(f"the option kafka.{problem.name} cannot be used: {problem.problem}", problem.hint) from None
    try:
        with Cluster(settings, retry_for_s=min(patience_s, settings.api_timeout_s)) as cluster:
            yield cluster
    except ClientError as failure:
        raise for_people(failure) from failure
