"""`barnabas group`: list, describe with lag, reset offsets, delete."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.apps import group_app
from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.connected import connected
from barnabas.cli.connection import REQUEST_TIMEOUT_S, Connection, result_of
from barnabas.cli.errors import CommandFailed
from barnabas.cli.group_view import GroupView, committed_offsets, describe_group, member_count, state_in_words
from barnabas.cli.offset_reset import Target, plan_reset, targets_from
from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import plural, print_json, print_rows, print_table, say

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from barnabas.cli.share_group_view import ShareGroups

app = group_app("group")

Names = Annotated[list[str], typer.Argument(metavar="GROUP", help="Names of groups.")]


@app.command("list")
@connected
def list_(
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """List groups of every type."""
    from barnabas.cli.share_group_view import share_groups

    admin = Connection.to(access).admin()
    with share_groups(access) as sharing:
        rows = _list_groups(admin, sharing)
    print_rows(rows, ["group", "state", "type"], output_format, empty="No groups yet.")


@app.command()
@connected
def describe(
    groups: Annotated[list[str] | None, typer.Argument(metavar="[GROUP]...", help="Names of groups.")] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Describe every group.")] = False,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Show members, committed offsets and lag."""
    from barnabas.cli.share_group_view import ShareGroupView, share_groups

    if bool(groups) == every:
        raise CommandFailed(
            "no group is given", hint="name groups, or give --all; run barnabas group list to see their names"
        )
    connection = Connection.to(access)
    admin = connection.admin()
    topics = connection.metadata(admin).topics
    described: list[GroupView | ShareGroupView] = []
    with share_groups(access) as sharing:
        names = groups or [row["group"] for row in _list_groups(admin, sharing)]
        described += [
            sharing.describe(name) if name in sharing else describe_group(admin, name, topics) for name in names
        ]
    if output_format is Format.json:
        print_json([group.as_object() for group in described])
        return
    for index, group in enumerate(described):
        print(f"{'' if index == 0 else chr(10)}{group.headline()}", flush=True)
        if group.partitions:
            columns = ["topic", "partition", "committed", "end", "lag", "member", "host"]
            if isinstance(group, ShareGroupView):
                columns = ["topic", "partition", "start", "lag"]
            print_table([partition._asdict() for partition in group.partitions], columns)


@app.command("reset-offsets")
@connected
def reset_offsets(
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Name of the group.")],
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="TOPIC[:P,P]", help="A topic, or some of its partitions; repeatable."),
    ] = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="Every topic the group has committed to.")] = False,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the oldest record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end.")] = False,
    to_offset: Annotated[int | None, typer.Option(min=0, metavar="OFFSET", help="To this offset.")] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="To the first record at or after this time, like 2026-01-31T12:00 (local) or 2026-01-31T12:00Z.",
        ),
    ] = None,
    shift_by: Annotated[
        int | None, typer.Option(metavar="N", help="By N records, forward or (if negative) back.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")] = False,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Change the committed offsets of a group without members."""
    from barnabas.cli.share_group_view import share_groups

    target = Target.from_options(to_earliest, to_latest, to_offset, to_datetime, shift_by)
    if bool(topic) == all_topics:
        raise CommandFailed(
            "give --topic or --all-topics", hint="--all-topics are those that the group has committed to"
        )
    connection = Connection.to(access)
    admin = connection.admin()
    with share_groups(access) as sharing:
        committed = sharing.starts(group) if group in sharing else committed_offsets(admin, group)
    partitions = sorted(committed) if all_topics else targets_from(connection, admin, topic or [])
    if not partitions:
        raise CommandFailed(f"the group {group} has committed nothing", hint="name the topics: --topic NAME")
    changes = plan_reset(admin, partitions, committed, target)
    if not dry_run and group in sharing:
        with share_groups(access) as sharing:
            _check_no_members(sharing.describe(group).members, group)
            sharing.reset(group, changes)
    elif not dry_run:
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        _check_no_members(member_count(admin, group), group)
        new = [TopicPartition(change.topic, change.partition, change.new) for change in changes]
        request = [ConsumerGroupTopicPartitions(group, new)]
        for done in result_of(admin.alter_consumer_group_offsets(request)[group]).topic_partitions:
            if done.error is not None:
                raise CommandFailed(f"{done.topic} {done.partition}: {done.error.str()}")
    print_rows([change._asdict() for change in changes], ["topic", "partition", "old", "new"], output_format)
    say(
        "Nothing was changed; run it without --dry-run to change it"
        if dry_run
        else f"Reset {plural(len(changes), 'partition')}"
    )


@app.command()
@connected
def delete(
    groups: Names,
    *,
    access: ClusterAccess,
) -> None:
    """Delete groups without members, with their committed offsets."""
    admin = Connection.to(access).admin()
    for name, future in admin.delete_consumer_groups(groups, request_timeout=REQUEST_TIMEOUT_S).items():
        try:
            result_of(future)
        except CommandFailed as error:
            raise CommandFailed(f"cannot delete the group {name}: {error.message}", hint=error.hint) from error
        say(f"Deleted group {name}")


def _list_groups(admin: "AdminClient", sharing: "ShareGroups") -> list[dict[str, str]]:
    found = result_of(admin.list_consumer_groups(request_timeout=REQUEST_TIMEOUT_S)).valid
    rows = [
        {"group": group.group_id, "state": state_in_words(group), "type": group.type.name.lower()}
        for group in found
        if group.group_id not in sharing
    ]
    return sorted(rows + sharing.rows(), key=lambda row: row["group"])


def _check_no_members(members: int, group: str) -> None:
    if members:
        raise CommandFailed(
            f"the group {group} has {plural(members, 'member')}; offsets change only while it has none",
            hint="stop its consumers and try again",
        )
