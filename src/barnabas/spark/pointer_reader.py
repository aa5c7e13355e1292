"""`barnabas.spark.table`: the table of a pipeline's flow, in the version that the pipeline's pointer names."""

from typing import TYPE_CHECKING, Any

from barnabas.client.errors import ClientError
from barnabas.spark.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def table(
    spark: "SparkSession", *, pipeline: str, flow: str, bootstrap_servers: str | None = None, **options: Any
) -> "DataFrame":
    """The rows of one version, even if the pipeline is switched meanwhile. `options` are `kafka.*`.

    Call it again to see another version.
    """
    from barnabas.client.cluster import Cluster
    from barnabas.client.properties import client_settings
    from barnabas.spark import pointer
    from barnabas.spark.options.kafka import source_properties
    from barnabas.spark.source.cluster_connection import FIRST_CONNECT_S
    from barnabas.spark.source.failures import to_user_error

    given = {name: str(value) for name, value in options.items()}
    if bootstrap_servers is not None:
        given["kafka.bootstrap.servers"] = bootstrap_servers
    for name in given:
        if not name.lower().startswith("kafka."):
            raise UserError(f"table() has no option {name}.", "give it options of the Kafka client only: kafka.*")
    try:
        with Cluster(client_settings(source_properties(given)), retry_for_s=FIRST_CONNECT_S) as cluster:
            target = pointer.get(cluster, pipeline).target(flow)
    except ClientError as failure:
        raise to_user_error(failure) from failure
    if target.table is None:
        raise UserError(
            f"The flow {flow} of the pipeline {pipeline} is the topic {target.topic}, not a table.",
            f'read it with format("barnabas").option("pipeline", "{pipeline}").option("flow", "{flow}")',
        )
    return spark.read.parquet(target.table)
