"""Connects to a project's broker without Spark, for commands that read or send a few records, and for checks."""

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BadProperty, ClientError
from barnabas.client.properties import client_settings
from barnabas.pipeline.project.model import Log
from barnabas.spark.errors import UserError
from barnabas.spark.options.kafka import source_properties
from barnabas.spark.source.failures import to_user_error

CONNECT_WITHIN_S = 10.0
"""Long enough for a broker that is just starting, short enough for a person who mistyped its address."""


@contextmanager
def connected(log: Log) -> Iterator[Cluster]:
    """Failures of the client become a UserError with the next step."""
    try:
        settings = client_settings(source_properties(log.spark_options()))
    except BadProperty as problem:
        raise UserError(f"the option kafka.{problem.name} cannot be used: {problem.problem}", problem.hint) from None
    try:
        with Cluster(settings, retry_for_s=min(CONNECT_WITHIN_S, settings.api_timeout_s)) as cluster:
            yield cluster
    except ClientError as failure:
        raise to_user_error(failure) from failure
