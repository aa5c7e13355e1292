"""Errors of `run` before Spark starts: each says what is wrong and what to do."""

import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from run_world import YAML, cluster_of, produce, project

from barnabas.pipeline import log_client
from barnabas.pipeline import status as statuses
from barnabas.pipeline.driver import claims, owner, tables, workload
from barnabas.pipeline.driver.claims import Claims
from barnabas.pipeline.driver.lock import only_driver, remember_java
from barnabas.pipeline.driver.outputs import group_of, output_of
from barnabas.pipeline.driver.run_outputs import RunOutputs
from barnabas.pipeline.driver.topics import OutputTopic, check_outputs, create_outputs
from barnabas.pipeline.project.model import Project, TableOutput, TopicOutput
from barnabas.pipeline.run import _CONF, run
from barnabas.pipeline.status import FlowStatus, State
from barnabas.spark.errors import UserError
from barnabas.testing import Broker
from barnabas.testing.ports import pick_free_port

pytestmark = pytest.mark.usefixtures("no_java")


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr("barnabas.pipeline.spark_session.start", refuse)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("orders", partitions=3)
        yield running


def test_a_topic_that_is_not_there(broker: Broker, tmp_path: Path) -> None:
    misspelt = project(tmp_path, broker, YAML.replace("topic: orders", "topic: order"))
    with pytest.raises(UserError) as refusal:
        run(misspelt, once=True)
    assert refusal.value.message == "there is no topic `order`, which source `orders` reads"
    assert refusal.value.hint == "did you mean `orders`? if not, create it: barnabas topic create order"
    assert not (tmp_path / ".barnabas/v1/logic").exists()


def test_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_client, "CONNECT_WITHIN_S", 0.2)
    port = pick_free_port("127.0.0.1")
    with pytest.raises(UserError, match=rf"Cannot reach 127.0.0.1:{port}: Connection refused"):
        run(project(tmp_path, f"127.0.0.1:{port}"), once=True)


def test_an_output_topic_with_records_of_others(broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("taken")
    produce(broker, "taken", [{"from": "elsewhere"}])
    with pytest.raises(UserError, match="flow `large` writes, has records that it did not write") as refusal:
        run(project(tmp_path, broker, YAML.replace("topic: large", "topic: taken")), once=True)
    assert "--into-existing" in refusal.value.hint


def test_another_folder_with_the_same_name(broker: Broker, tmp_path: Path) -> None:
    yaml = YAML.replace("name: shop", "name: stall").replace("topic: large", "topic: stalls")
    first, second = (project(tmp_path / name, broker, yaml) for name in ("first", "second"))
    mine, other = Claims(), Claims()
    claims.write(first.state_folder("v1"), mine)
    with cluster_of(broker) as cluster:
        owner.register(cluster, first, "v1", mine.id, take_over=False)
        owner.register(cluster, first, "v1", claims.read(first.state_folder("v1")).id, take_over=False)
        with pytest.raises(UserError) as refusal:
            run(second, once=True)
        assert f"v1 of the pipeline `stall` is run from another folder, {tmp_path / 'first'} on" in str(refusal.value)
        assert "give this project another `name:`" in refusal.value.hint
        owner.check(cluster, second, "v2", Claims().id)  # a version of its own may run anywhere
        with pytest.raises(UserError, match="another folder"):
            owner.register(cluster, second, "v1", other.id, take_over=False)
        with pytest.raises(UserError, match="another folder"):
            owner.check(cluster, second, "v1", mine.id)  # a copy with all its state is another folder as well

        (tmp_path / "first").rename(tmp_path / "moved")
        moved = project(tmp_path / "moved", broker, yaml)
        owner.check(cluster, moved, "v1", mine.id)
        owner.register(cluster, moved, "v1", mine.id, take_over=False)
        shutil.rmtree(moved.state_folder("v1"))
        owner.check(cluster, moved, "v1", Claims().id)  # to start again, its state was removed
        claims.write(moved.state_folder("v1"), mine)
        claims.write(second.state_folder("v1"), other)
        owner.register(cluster, second, "v1", other.id, take_over=True)
        with pytest.raises(UserError, match="is run from another folder"):
            owner.check(cluster, moved, "v1", mine.id)


def test_a_run_with_little_to_read_has_spark_prepare_for_little(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("few", partitions=2)
    produce(broker, "few", [{"id": "a", "amount": 1.0}] * 3)
    confs: list[Mapping[str, str]] = []
    said: list[str] = []

    def start(_: Project, *, conf: Mapping[str, str], **__: object) -> None:
        confs.append(conf)
        raise UserError("far enough", "")

    monkeypatch.setattr("barnabas.pipeline.spark_session.start", start)
    few = project(tmp_path, broker, YAML.replace("topic: orders", "topic: few"))
    for once, limit in ((True, 3), (True, 2), (False, 3)):
        monkeypatch.setattr(workload, "FEW", limit)
        with pytest.raises(UserError, match="far enough"):
            run(few, once=once, say=said.append)
    assert ["SerialGC" in conf.get("spark.driver.extraJavaOptions", "") for conf in confs] == [True, False, False]
    assert said == ["Starting Spark ..."] * 3


def test_topics_of_a_version(broker: Broker) -> None:
    """Created with as many partitions as their source, and identified by their ids later."""
    wanted = OutputTopic("made", "flow `f`", ("orders",), has_written=False)
    written = OutputTopic("made", "flow `f`", ("orders",), has_written=True)
    shared = OutputTopic("dead", "dead letters", (), has_written=True, is_shared=True)
    with cluster_of(broker) as cluster:
        check_outputs(cluster, [wanted, shared], {})
        created = create_outputs(cluster, [wanted, shared])
        assert created.new == ["made", "dead"]
        found = cluster.topics(["made"])["made"]
        assert len(found.partitions) == 3
        assert created.ids == {"made": str(found.topic_id)}
        assert create_outputs(cluster, [wanted, shared]) == ([], created.ids)
        check_outputs(cluster, [wanted], {})  # empty, made by an administrator perhaps
        produce(broker, "made", [{}])
        check_outputs(cluster, [written], created.ids)
        with pytest.raises(UserError, match="has records that it did not write"):
            check_outputs(cluster, [wanted], {})
        with pytest.raises(UserError, match="was deleted and created again"):
            check_outputs(cluster, [written], {"made": "another"})
        with pytest.raises(UserError, match="no longer exists"):
            check_outputs(cluster, [replace(written, topic="gone")], {"gone": "x"})


def test_a_table_of_others(broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "sold").mkdir()
    (tmp_path / "sold/part.parquet").write_text("")
    with pytest.raises(UserError, match="has files that it did not write"):
        run(project(tmp_path, broker, YAML.replace("{{topic: large, key: id}}", "{{table: sold}}")), once=True)


def test_a_table_is_still_the_versions_own_in_the_next_run(broker: Broker, tmp_path: Path) -> None:
    found = project(tmp_path, broker, YAML.replace("{{topic: large, key: id}}", "{{table: sold}}"))
    RunOutputs(found, found.running_flows(), "v1", into_existing=False).claim_local_tables()
    (tmp_path / "sold/part.parquet").write_text("")
    RunOutputs(found, found.running_flows(), "v1", into_existing=False).claim_local_tables()
    (found.state_folder("v1") / claims.FILE_NAME).unlink()
    with pytest.raises(UserError, match="has files that it did not write"):
        RunOutputs(found, found.running_flows(), "v1", into_existing=False).claim_local_tables()


def test_tables_of_a_version(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    table = tables.claim(path, "f", None, has_written=False, into_existing=False)
    (tmp_path / "table/x.parquet").write_text("")
    (tmp_path / "table/_spark_metadata").mkdir()
    assert tables.claim(path, "f", table, has_written=True, into_existing=False) == table
    with pytest.raises(UserError, match="whose batches have the same numbers"):
        tables.claim(path, "f", None, has_written=False, into_existing=True)
    shutil.rmtree(path)
    with pytest.raises(UserError, match="no longer exists"):
        tables.claim(path, "f", table, has_written=True, into_existing=False)
    assert tables.claim(path, "f", table, has_written=True, into_existing=True) != table


def test_columns_of_a_table_may_come_but_not_go() -> None:
    tables.check_columns("f", {"a": "int", "b": "string"}, {})
    tables.check_columns("f", {"a": "int", "b": "string", "c": "date"}, {"a": "int", "b": "string"})
    with pytest.raises(UserError) as refusal:
        tables.check_columns("f", {"a": "bigint", "c": "date"}, {"a": "int", "b": "string", "c": "date"})
    assert refusal.value.message.splitlines()[1:] == ["  - a int became bigint", "  - b string was removed"]


def test_files_of_unfinished_batches_are_removed(tmp_path: Path) -> None:
    """Names as Spark writes them; unknown ones are ignored."""
    log = tmp_path / "_spark_metadata"
    kept = tmp_path / "day=a%3Ab c" / "part-1.parquet"
    left = tmp_path / "day=a%3Ab c" / "part-2.parquet"
    for file in (log / "0", kept, left):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    uri = kept.as_uri()
    assert "%25" in uri
    (log / "0").write_text(f'v1\n{{"path":"{uri}","action":"add"}}\n')
    (log / "1").write_text('v1\n{"path":"file:///elsewhere/part-3.parquet","action":"add"}')
    assert tables.remove_leftovers(str(tmp_path)) == 0
    (log / "1").write_text("v9\n")
    assert tables.remove_leftovers(str(tmp_path)) == 0
    (log / "1").write_text("v1\n")
    assert tables.remove_leftovers(str(tmp_path)) == 1
    assert kept.exists()
    assert not left.exists()


def test_one_driver_for_a_version(tmp_path: Path) -> None:
    status = FlowStatus("f", State.RUNNING, 0.0)
    with only_driver(tmp_path, "v1"):
        statuses.write(tmp_path, statuses.of_this_process("p", "v1", 0.0, [status]))
        with pytest.raises(UserError, match="v1 is already running: process") as refusal, only_driver(tmp_path, "v1"):
            pass
        assert "barnabas pipeline stop --version v1" in refusal.value.hint
    remember_java(tmp_path, 2**30)  # no such process: it has ended
    with only_driver(tmp_path, "v1"):
        pass


def test_one_driver_among_several_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    status = statuses.of_this_process("p", "v1", 0.0, [FlowStatus("f", State.RUNNING, 0.0)])
    monkeypatch.undo()
    statuses.write(tmp_path, status)
    with pytest.raises(UserError, match="on another"), only_driver(tmp_path, "v1"):
        pass


def test_names_of_a_version(broker: Broker, tmp_path: Path) -> None:
    yaml = YAML + "  kept:\n    sql: SELECT * FROM orders\n    output: {{table: tables/kept}}\n"
    found = project(tmp_path, broker, yaml)
    large, kept = found.flows["large"], found.flows["kept"]
    assert output_of(large, "v1") == large.output
    new = output_of(large, "v2")
    assert isinstance(new, TopicOutput)
    assert (new.topic, new.key) == ("large.v2", "id")
    table = output_of(kept, "v2")
    assert isinstance(table, TableOutput)
    assert table.path == str(tmp_path / "tables/kept.v2")
    assert group_of(found, "v2", "large") == "barnabas.shop.v2.large"


def test_a_flow_that_is_not_there(broker: Broker, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the flow `larg` does not exist") as refusal:
        run(project(tmp_path, broker), flows=["larg"])
    assert refusal.value.hint == "did you mean `large`?"


def test_flows_share_the_cores_by_age() -> None:
    """In Spark's default pool: pools are scheduled by name, and the last would wait for the first."""
    file = urlsplit(_CONF["spark.scheduler.allocation.file"])
    pools = ElementTree.parse(file.path).findall("pool")
    assert [(pool.get("name"), pool.findtext("schedulingMode")) for pool in pools] == [("default", "FAIR")]
    assert (file.scheme, _CONF["spark.scheduler.mode"]) == ("file", "FAIR")
