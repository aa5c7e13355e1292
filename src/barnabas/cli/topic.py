"""`barnabas topic`: create, list, describe, alter, delete."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.apps import group_app
from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.connected import connected
from barnabas.cli.connection import REQUEST_TIMEOUT_S, Connection, failure, result_of
from barnabas.cli.errors import CommandFailed
from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import plural, print_json, print_rows, print_table, say
from barnabas.cli.pairs import parse_settings

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, TopicMetadata

app = group_app("topic")

Names = Annotated[list[str], typer.Argument(metavar="TOPIC", help="Names of topics.")]
Config = Annotated[
    list[str] | None,
    typer.Option("--config", "-c", metavar="KEY=VALUE", help="A topic setting, like retention.ms=7d; repeatable."),
]


@app.command()
@connected
def create(
    topics: Annotated[list[str], typer.Argument(metavar="NAME", help="Names of the new topics.")],
    partitions: Annotated[
        int,
        typer.Option(
            "--partitions", "-p", min=1, metavar="NUMBER", help="How many.", show_default="the broker's num.partitions"
        ),
    ] = -1,
    replication_factor: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="On how many brokers each partition is kept.",
            show_default="the broker's default.replication.factor",
        ),
    ] = -1,
    config: Config = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do not fail if a topic exists already.")
    ] = False,
    *,
    access: ClusterAccess,
) -> None:
    """Create topics."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import NewTopic

    settings = parse_settings("--config", config)
    admin = Connection.to(access).admin()
    futures = admin.create_topics(
        [NewTopic(name, partitions, replication_factor, config=settings) for name in topics],
        request_timeout=REQUEST_TIMEOUT_S,
    )
    for name, future in futures.items():
        try:
            future.result()
        except KafkaException as error:
            if if_not_exists and error.args[0].name() == "TOPIC_ALREADY_EXISTS":
                say(f"Topic {name} exists already")
                continue
            raise failure(error.args[0]) from error
        say(f"Created topic {name}")


@app.command("list")
@connected
def list_(
    internal: Annotated[bool, typer.Option("--internal", help="Also list internal topics.")] = False,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """List topics."""
    connection = Connection.to(access)
    topics = connection.metadata(connection.admin()).topics.values()
    rows = [
        {"topic": topic.topic, "partitions": len(topic.partitions), "replicas": _replication_factor(topic)}
        for topic in sorted(topics, key=lambda topic: topic.topic)
        if internal or not topic.topic.startswith("__")
    ]
    empty = "No topics yet. Create one with: barnabas topic create NAME"
    print_rows(rows, ["topic", "partitions", "replicas"], output_format, empty=empty)


@app.command()
@connected
def describe(
    topics: Names,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Show partitions, offsets and the settings that differ from the defaults."""
    connection = Connection.to(access)
    admin = connection.admin()
    described = [_description(admin, topic) for topic in connection.existing_topics(admin, topics)]
    if output_format is Format.json:
        print_json(described)
        return
    for index, topic in enumerate(described):
        settings = " ".join(f"{name}={value}" for name, value in topic["config"].items())
        print(f"{'' if index == 0 else chr(10)}Topic {topic['topic']}{': ' if settings else ''}{settings}", flush=True)
        columns = ["partition", "leader", "replicas", "isr", "start_offset", "end_offset"]
        print_table(topic["partitions"], columns)


@app.command()
@connected
def alter(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Name of the topic.")],
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, metavar="NUMBER", help="New number of partitions.")
    ] = None,
    config: Config = None,
    delete_config: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="Reset a setting to its default; repeatable.")
    ] = None,
    *,
    access: ClusterAccess,
) -> None:
    """Add partitions, or change settings."""
    settings = parse_settings("--config", config)
    if partitions is None and not settings and not delete_config:
        raise CommandFailed(
            "it is not said what to alter",
            hint="give --partitions, --config or --delete-config; see barnabas topic alter --help",
        )
    connection = Connection.to(access)
    admin = connection.admin()
    connection.existing_topics(admin, [topic])
    if partitions is not None:
        from confluent_kafka.admin import NewPartitions

        result_of(admin.create_partitions([NewPartitions(topic, partitions)], request_timeout=REQUEST_TIMEOUT_S)[topic])
        say(f"Topic {topic} has {plural(partitions, 'partition')} now")
    if settings or delete_config:
        _alter_config(admin, topic, settings, delete_config or [])
        say(f"Altered the settings of {topic}")


@app.command()
@connected
def delete(
    topics: Names,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="Do not fail if a topic does not exist.")] = False,
    *,
    access: ClusterAccess,
) -> None:
    """Delete topics and all their records."""
    connection = Connection.to(access)
    admin = connection.admin()
    if if_exists:
        known = connection.metadata(admin).topics
        topics = [name for name in topics if name in known]
    else:
        connection.existing_topics(admin, topics)
    if not topics:
        return
    for name, future in admin.delete_topics(topics, request_timeout=REQUEST_TIMEOUT_S).items():
        result_of(future)
        say(f"Deleted topic {name}")


def _replication_factor(topic: "TopicMetadata") -> int:
    return max((len(partition.replicas) for partition in topic.partitions.values()), default=0)


def _description(admin: "AdminClient", topic: "TopicMetadata") -> dict[str, Any]:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    def offsets(spec: OffsetSpec) -> dict[int, int]:
        asked = {TopicPartition(topic.topic, partition): spec for partition in topic.partitions}
        found = admin.list_offsets(asked, request_timeout=REQUEST_TIMEOUT_S)
        return {where.partition: result_of(future).offset for where, future in found.items()}

    start, end = offsets(OffsetSpec.earliest()), offsets(OffsetSpec.latest())
    return {
        "topic": topic.topic,
        "partitions": [
            {
                "partition": index,
                "leader": partition.leader,
                "replicas": list(partition.replicas),
                "isr": list(partition.isrs),
                "start_offset": start[index],
                "end_offset": end[index],
            }
            for index, partition in sorted(topic.partitions.items())
        ],
        "config": _own_config(admin, topic.topic),
    }


def _own_config(admin: "AdminClient", topic: str) -> dict[str, str]:
    from confluent_kafka.admin import ConfigResource, ConfigSource

    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entries = result_of(admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_S)[resource])
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {name: entry.value for name, entry in sorted(entries.items()) if entry.source == own}


def _alter_config(admin: "AdminClient", topic: str, settings: dict[str, str], defaults: list[str]) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
    ]
    entries += [ConfigEntry(name, None, incremental_operation=AlterConfigOpType.DELETE) for name in defaults]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    result_of(admin.incremental_alter_configs([resource], request_timeout=REQUEST_TIMEOUT_S)[resource])
