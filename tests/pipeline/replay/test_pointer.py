"""The pointer that readers of a pipeline follow: it moves for all flows at once, and only forward in the log."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from barnabas.cli.pipeline import app
from barnabas.client.cluster import Cluster
from barnabas.client.group_offsets import commit_offsets
from barnabas.client.properties import client_settings
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.model import TopicPartition
from barnabas.pipeline.driver.logic import keep_logic
from barnabas.pipeline.driver.outputs import group_of
from barnabas.pipeline.project import Project, load
from barnabas.pipeline.replay.listing import versions
from barnabas.pipeline.replay.pointer_moves import move, publish_first
from barnabas.pipeline.replay.running import CatchUpReport, parse_start
from barnabas.pipeline.replay.switching import switch
from barnabas.pipeline.replay.version_progress import reached_offsets, records_behind
from barnabas.records.record import Record, build_batch
from barnabas.spark import metadata_topic, pointer
from barnabas.spark.errors import UserError
from barnabas.spark.options.source import batch_options, stream_options
from barnabas.spark.source.batch import tasks
from barnabas.spark.source.read import close_idle, read_ranges
from barnabas.spark.source.stream import Stream
from barnabas.testing import Broker

PROJECT = """
name: %s
log: {bootstrap: "%s"}
sources:
  lines: {topic: %s, format: text}
flows:
  upper:
    sql: SELECT upper(value) AS value FROM lines
    output: {topic: %s.upper, format: text}
  kept:
    sql: SELECT value FROM lines
    output: {table: kept}
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running
    close_idle()


class World:
    def __init__(self, broker: Broker, topic: str, folder: Path) -> None:
        self.topic = topic
        self.bootstrap = broker.bootstrap_servers
        self.folder = folder
        (folder / "pipeline.yaml").write_text(PROJECT % (topic, self.bootstrap, topic, topic))
        self.project: Project = load(folder)
        self.cluster = Cluster(client_settings({"bootstrap.servers": self.bootstrap}))
        for name in (topic, f"{topic}.upper", f"{topic}.upper.v2"):
            broker.create_topic(name)

    def ran(self, version: str, offset: int, *, batch: int = 0) -> None:
        """As if this version had run, up to this offset."""
        keep_logic(self.project, version)
        for flow in "upper", "kept":
            checkpoint = self.project.checkpoint(flow, version)
            for folder, text in (
                ("offsets", "v1\n{}\n" + json.dumps({self.topic: {"0": offset}, "$ids": {self.topic: "x"}})),
                ("commits", "v1\n{}"),
            ):
                (checkpoint / folder).mkdir(parents=True, exist_ok=True)
                (checkpoint / folder / str(batch)).write_text(text)

    def write(self, topic: str, values: list[bytes]) -> None:
        transactions = Transactions(self.cluster)
        producer = transactions.take_over(f"{self.topic}-writer", timeout_ms=10_000)
        writer = TransactionWriter(self.cluster, transactions, producer)
        writer.append(topic, 0, build_batch([Record(n, 1, None, value) for n, value in enumerate(values)]))
        writer.commit()

    @property
    def options(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.bootstrap, "pipeline": self.topic, "flow": "upper"}

    def batch(self) -> list[bytes]:
        options = batch_options(self.options)
        return [
            value.as_py()
            for ranges in tasks(options)
            for part in read_ranges(ranges, options, ("value",))
            for value in part.column(0)
        ]


@pytest.fixture
def world(broker: Broker, barnabas_topic: str, tmp_path: Path) -> Iterator[World]:
    made = World(broker, barnabas_topic, tmp_path)
    yield made
    made.cluster.close()


def test_readers_follow_the_pointer_there_and_back(world: World) -> None:
    with pytest.raises(UserError, match=r"No pipeline .* has ever run"):
        world.batch()
    world.ran("v1", 2)
    publish_first(world.cluster, world.project, "v1", world.project.running_flows())
    world.write(f"{world.topic}.upper", [b"A", b"B"])
    assert world.batch() == [b"A", b"B"]
    world.write(f"{world.topic}.upper.v2", [b"a", b"b", b"c"])
    world.ran("v2", 2)
    publish_first(
        world.cluster, world.project, "v2", world.project.running_flows()
    )  # a run of another version changes nothing
    assert world.batch() == [b"A", b"B"]
    moves = switch(world.project, version="v2")
    assert [(each.flow, each.new.version) for each in moves] == [("upper", "v2"), ("kept", "v2")]
    assert world.batch() == [b"a", b"b", b"c"]
    now = pointer.get(world.cluster, world.topic)
    assert now.flows["kept"].table == f"{world.folder}/kept.v2"
    assert now.flows["upper"].starts == {"0": 4}  # three records and their marker
    assert switch(world.project, version="v2") == []
    switch(world.project, version="v1", flow="upper")
    assert world.batch() == [b"A", b"B"]
    assert pointer.get(world.cluster, world.topic).flows["kept"].version == "v2"


def test_a_version_that_is_behind_is_not_shown(world: World) -> None:
    world.ran("v1", 10)
    publish_first(world.cluster, world.project, "v1", world.project.running_flows())
    with pytest.raises(UserError, match="v2 has never run here") as refused:
        switch(world.project, version="v2")
    assert "replay --as v2" in refused.value.hint
    keep_logic(world.project, "v2")
    with pytest.raises(UserError, match="has not finished a batch yet"):
        switch(world.project, version="v2")
    world.ran("v2", 7)
    with pytest.raises(UserError, match="`upper` of v2 is 3 records behind v1") as refused:
        switch(world.project, version="v2")
    assert "--anyway" in refused.value.hint
    with pytest.raises(UserError, match="no flow `uper`"):
        switch(world.project, version="v2", flow="uper")
    listed = versions(world.project)
    assert [(each.version, each.flow, each.is_current) for each in listed] == [
        ("v1", "upper", True),
        ("v1", "kept", True),
        ("v2", "upper", False),
        ("v2", "kept", False),
    ]
    # The current version runs elsewhere: only its group knows how far it.
    shutil.rmtree(world.project.state_folder("v1"))
    with pytest.raises(UserError, match="it is unknown how far the current version v1"):
        switch(world.project, version="v2")
    for flow in "upper", "kept":
        commit_offsets(world.cluster, group_of(world.project, "v1", flow), {(world.topic, 0): (9, "")})
    with pytest.raises(UserError, match="is 2 records behind v1"):
        switch(world.project, version="v2")
    assert len(switch(world.project, version="v2", anyway=True)) == 2


def test_the_commands(world: World) -> None:
    run = CliRunner().invoke
    here = ["--project", str(world.folder)]
    assert "No version has run here yet" in run(app, ["versions", *here]).output
    world.ran("v1", 1)
    world.ran("v2", 1)
    publish_first(world.cluster, world.project, "v1", world.project.running_flows())
    said = run(app, ["switch", "v2", *here]).output
    assert f"upper: readers now see the topic {world.topic}.upper.v2, no longer the topic {world.topic}.upper" in said
    assert f"must change it: {world.topic}.upper -> {world.topic}.upper.v2" in said
    assert "Readers already see v2" in run(app, ["switch", "v2", *here]).output
    listed = json.loads(run(app, ["versions", *here, "--format", "json"]).stdout)
    assert listed == [
        {"version": version, "flow": flow, "current": version == "v2", "state": None, "lag": 0, **output}
        for version, ending in (("v1", ""), ("v2", ".v2"))
        for flow, output in (
            ("upper", {"topic": f"{world.topic}.upper{ending}", "table": None}),
            ("kept", {"topic": None, "table": f"{world.folder}/kept{ending}"}),
        )
    ], "values for programs, not sentences"
    table = run(app, ["versions", *here]).stdout.splitlines()
    assert table[0].split() == ["VERSION", "FLOW", "CURRENT", "STATE", "LAG", "OUTPUT"]
    assert table[3].split() == ["v2", "upper", "yes", "-", "0", "topic", f"{world.topic}.upper.v2"]
    refused = run(app, ["replay", "--as", "v2", *here])
    assert refused.exit_code == 1
    assert "v2 is the current version" in str(refused.exception)


def test_only_one_can_move_it_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch during another switch: the first one fails, and has no effect."""
    publish_first(world.cluster, world.project, "v1", world.project.running_flows())
    flows = world.project.running_flows()
    write = pointer.write

    def overtaken(writer: TransactionWriter, moved: pointer.Pointer) -> None:
        write(writer, moved)
        monkeypatch.undo()
        with Cluster(world.cluster.settings) as other:
            move(other, world.project, "v3", flows)

    monkeypatch.setattr("barnabas.pipeline.replay.pointer_moves.write", overtaken)
    with pytest.raises(Exception, match="cannot be ended"):
        move(world.cluster, world.project, "v2", flows)
    assert {each.version for each in pointer.get(world.cluster, world.topic).flows.values()} == {"v3"}


def test_open_and_aborted_transactions_hide_no_pointer(world: World) -> None:
    publish_first(world.cluster, world.project, "v1", world.project.running_flows())
    transactions = Transactions(world.cluster)
    open_id, aborted_id = f"{world.topic}-open", f"{world.topic}-aborted"
    for transactional_id in open_id, aborted_id:
        producer = transactions.take_over(transactional_id, timeout_ms=60_000)
        writer = TransactionWriter(world.cluster, transactions, producer)
        metadata_topic.write(writer, [(f"pipeline\t{world.topic}", b'{"nonsense": 1}')])
        if transactional_id == aborted_id:
            transactions.end(writer.producer, commit=False)
    assert pointer.get(world.cluster, world.topic).flows["upper"].version == "v1"
    move(world.cluster, world.project, "v2", world.project.running_flows())
    assert pointer.get(world.cluster, world.topic).flows["upper"].version == "v2"


@pytest.fixture
def streams(world: World) -> Iterator[Callable[..., Stream]]:
    made: list[Stream] = []

    def stream(**options: str) -> Stream:
        made.append(Stream(stream_options({**world.options, "startingOffsets": "earliest", **options})))
        return made[-1]

    yield stream
    for each in made:
        each.close()


def test_a_stream_ends_at_the_switch_with_a_word_where_to_go_on(world: World, streams: Callable[..., Stream]) -> None:
    old = f"{world.topic}.upper"
    publish_first(world.cluster, world.project, "v1", world.project.running_flows())
    world.write(old, [b"A", b"B"])
    stream = streams()
    first = stream.end_of_batch(stream.begin().as_json(), everything=True)
    assert first[old] == {"0": 3}
    world.write(old, [b"C"])
    move(world.cluster, world.project, "v2", world.project.running_flows())
    world.write(old, [b"late"])
    # A process that was there before, and one that starts now with the same checkpoint.
    for each in stream, streams():
        assert each.tasks(stream.begin().as_json(), first)
        end = each.end_of_batch(first, everything=True)
        assert end[old] == {"0": 5}, "all that was there at the switch, and nothing behind it"
        with pytest.raises(UserError, match=f"its flow upper is now the topic {old}.v2") as refused:
            each.end_of_batch(end, everything=True)
        assert "new checkpoint" in refused.value.hint
        assert "startingOffsets" in refused.value.hint
    restarted = streams()
    restarted.stop_at_current_end()
    assert restarted.end_of_batch(first, everything=True)[old] == {"0": 5}
    # Back again: the stream was never ended, and continues.
    move(world.cluster, world.project, "v1", world.project.running_flows())
    assert stream.end_of_batch(first, everything=True)[old] == {"0": 7}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"flow": "uper"}, "did you mean upper"),
        ({"flow": "kept"}, "barnabas.spark.table"),
        ({"pipeline": "nobody"}, "run it first"),
    ],
)
def test_names_that_lead_nowhere(world: World, options: dict[str, str], said: str) -> None:
    publish_first(world.cluster, world.project, "v1", world.project.running_flows())
    with pytest.raises(UserError) as refused:
        tasks(batch_options({**world.options, **options}))
    assert said in refused.value.hint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pipeline": "p"}, "flow is not"),
        ({"flow": "f"}, "pipeline is not"),
        ({"pipeline": "p", "flow": "f", "subscribe": "t"}, "both set"),
        ({"pipeline": "p", "flow": "f", "history": "/h"}, "not with a pipeline's flow"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        batch_options({"kafka.bootstrap.servers": "localhost:9092", **options})


def test_committed_rows_are_what_a_flow_has() -> None:
    options = {"kafka.bootstrap.servers": "localhost:9092", "pipeline": "p", "flow": "f"}
    assert batch_options(options).isolation_level == 1
    assert batch_options({**options, "kafka.isolation.level": "read_uncommitted"}).isolation_level == 0


def test_how_far_a_version_is(world: World) -> None:
    here, there = TopicPartition("t", 0), TopicPartition("other", 0)
    assert records_behind({here: 3}, {here: 10, there: 5}) == 7
    assert records_behind({here: 10}, {here: 3}) == 0
    checkpoint = world.project.checkpoint("upper", "v1")
    assert reached_offsets(checkpoint) is None
    world.ran("v1", 5, batch=9)
    world.ran("v1", 8, batch=10)
    (checkpoint / "offsets" / "11").write_text("v1\n{}\n" + json.dumps({world.topic: {"0": 99}}))  # not done
    assert reached_offsets(checkpoint) == {TopicPartition(world.topic, 0): 8}
    said: list[str] = []
    catching_up = CatchUpReport(world.project, "v2", {"upper": "v1"}, "upper", said.append)
    for number, offset in enumerate((2, 5, 8)):
        world.ran("v2", offset, batch=number)
        catching_up.update()
        catching_up.update()
    assert said == [
        "upper: [..........] v2 is 6 records behind v1",
        "upper: [#####.....] v2 is 3 records behind v1",
        "upper: v2 has caught up with v1",
    ]


def test_where_a_replay_begins() -> None:
    assert parse_start("earliest") == "earliest"
    assert parse_start("2026-01-31T12:00Z") == parse_start("2026-01-31T13:00+01:00") == 1769860800000
    with pytest.raises(UserError, match="not a starting point"):
        parse_start("yesterday")
