"""The commands that need no Java: what they print, how they fail, and that they import nothing heavy."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from project_making import FLOWS, HEAD, SOURCES, write

from barnabas.cli.main import run
from barnabas.cli.pipeline_status import ago, size
from barnabas.pipeline import status as statuses
from barnabas.pipeline.project import load
from barnabas.pipeline.status import FlowStatus, State
from barnabas.spark.errors import UserError

CommandResult = tuple[int, str, str]
Pipeline = Callable[..., CommandResult]


@pytest.fixture
def pipeline(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Run `barnabas pipeline ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> CommandResult:
        return run(["pipeline", *arguments]), *capfd.readouterr()

    return call


@pytest.mark.parametrize("template", ["telemetry", "minimal"])
def test_a_new_project_is_good_as_it_is(pipeline: Pipeline, tmp_path: Path, template: str) -> None:
    status, out, err = pipeline("init", "shop", "--template", template)
    assert (status, out) == (0, "")
    assert "Created a project in shop:\n" in err
    assert "  cd shop\n" in err
    assert (tmp_path / "shop" / ".gitignore").read_text().count(".barnabas/") == 1
    project = load(tmp_path / "shop", environment={})
    assert project.name == "shop"
    assert load(tmp_path / "shop", environment={}, profile=None).log.bootstrap == "localhost:9092"
    for case in (tmp_path / "shop" / "tests").iterdir():
        for file in case.iterdir():
            kind, name, _ = file.name.split(".")
            assert name in (project.sources if kind == "input" else project.flows)
            for line in file.read_text().splitlines():
                assert json.loads(line)
    assert pipeline("check", "-C", "shop")[0] == 0
    assert "{{" not in "".join(path.read_text() for path in (tmp_path / "shop").rglob("*") if path.is_file())


def test_the_template_has_a_profile(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline("init", "shop")
    assert load(tmp_path / "shop", environment={}, profile="prod").log.bootstrap == "kafka:9092"


def test_init_overwrites_nothing(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"shop/pipeline.yaml": "mine", "shop/other": "mine"})
    status, _, err = pipeline("init", "shop")
    assert status == 1
    assert err == (
        f"error: {tmp_path / 'shop'} has a project already: pipeline.yaml\n"
        "hint: choose another name, or remove these files first\n"
    )
    assert sorted(os.listdir(tmp_path / "shop")) == ["other", "pipeline.yaml"]


def test_init_in_a_folder_that_has_something_else(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"shop/notes": "mine"})
    assert pipeline("init", "shop")[0] == 0
    assert (tmp_path / "shop" / "notes").read_text() == "mine"


def test_init_needs_a_name_that_can_be(pipeline: Pipeline, tmp_path: Path) -> None:
    status, _, err = pipeline("init", "my shop")
    assert status == 1
    assert err.startswith("error: init my shop: `my shop` cannot be the name of a project\n")
    (tmp_path / "file").write_text("")
    assert pipeline("init", "file")[2].startswith(f"error: {tmp_path / 'file'} is a file\n")


def test_check_tells_what_is_wrong(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": f"{HEAD}{SOURCES}flows:\n  f: {{sql: SELECT * FROM order}}\n"})
    status, out, err = pipeline("check")
    assert (status, out) == (1, "")
    assert err == (
        "error: pipeline.yaml:9:26: flow `f` reads `order`, which is not a source, table or flow\n"
        "  9 |   f: {sql: SELECT * FROM order}\n"
        "    |                          ^^^^^\n"
        "hint: did you mean `orders`?\n"
    )


def test_check_for_scripts(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": f"{HEAD}{SOURCES}{FLOWS}"})
    status, out, err = pipeline("check", "--format", "json")
    found = json.loads(out)
    assert (status, err, found["valid"], found["problems"], found["project"]) == (0, "", True, [], "shop")
    assert found["sources"] == list(load(tmp_path).sources)
    write(tmp_path, {"pipeline.yaml": f"{HEAD}{SOURCES}flows:\n  f: {{sql: SELECT * FORM orders, topik: x}}\n"})
    status, out, err = pipeline("check", "--format", "json", "--set", "nme=x")
    assert (status, err) == (1, "")
    found = json.loads(out)
    assert not found["valid"]
    query, key, flag = sorted(found["problems"], key=lambda each: (each["line"] or 99, each["column"]))
    assert query == {
        "file": "pipeline.yaml",
        "line": 9,
        "column": 21,
        "message": "not SQL: this query has `FORM` and no FROM",
        "hint": "did you mean FROM?",
    }
    assert (key["line"], key["column"]) == (9, 34)
    assert (flag["file"], flag["line"], flag["column"]) == ("--set nme=x", None, None)
    status, out, err = pipeline("check", "-C", "none", "--format", "json")
    assert (status, err) == (1, "")
    assert json.loads(out)["problems"][0]["message"] == "there is no file none"


def test_there_is_no_project(pipeline: Pipeline, tmp_path: Path) -> None:
    for command in ("check", "graph", "status", "stop"):
        status, out, err = pipeline(command)
        assert (status, out) == (1, "")
        assert err.startswith(f"error: there is no pipeline.yaml in {tmp_path}\nhint: ")


def test_graph_in_all_its_forms(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": f"{HEAD}{SOURCES}{FLOWS}"})
    assert pipeline("graph")[1].startswith("topic orders\n")
    assert pipeline("graph", "--format", "svg")[1].startswith("<svg ")
    assert pipeline("graph", "--format", "mermaid")[1].startswith("flowchart LR\n")
    assert json.loads(pipeline("graph", "--format", "json")[1])["project"] == "shop"
    assert pipeline("graph", "-o", "x.svg") == (0, "", "Wrote x.svg\n")
    assert (tmp_path / "x.svg").read_text().startswith("<svg ")
    assert pipeline("graph", "--format", "json", "-o", "x.json")[0] == 0
    assert json.loads((tmp_path / "x.json").read_text())["project"] == "shop"
    assert pipeline("graph", "-o", "none/x.svg")[2].startswith("error: none/x.svg cannot be written: ")
    assert pipeline("graph", "--set", "name=other", "--format", "json")[1].count('"other"') == 1


def some_status(**changes: object) -> statuses.Status:
    flow = FlowStatus(
        "f", State.RUNNING, time.time(), 7, 1234.5, 2.25, 10, 5, 42, "2026-01-01T12:00:00Z", 1000, 1_500_000
    )
    return replace(statuses.of_this_process("shop", "v1", time.time() - 7200, [flow]), **changes)  # type: ignore[arg-type]


def test_status_is_a_table(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": "not even: [yaml"})
    assert pipeline("status")[2] == "This pipeline has never run here: barnabas pipeline run\n"
    statuses.write(tmp_path / ".barnabas" / "v1", some_status())
    status, out, _ = pipeline("status")
    assert status == 0
    head, columns, row = out.splitlines()
    assert head.startswith(f"shop v1: running for 2 h, process {os.getpid()} on ")
    assert " ".join(columns.split()) == "FLOW STATE BATCH IN/S OUT/S LAG WATERMARK STATE ROWS STATE SIZE UPDATED"
    assert " ".join(row.split()) == "f running 7 1,234 2.2 42 2026-01-01T12:00:00Z 1000 1.5 MB 0 s ago"


def test_status_of_the_dead_and_the_failed_ends_with_1(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": ""})
    folder = tmp_path / ".barnabas" / "v1"
    statuses.write(folder, some_status(process="1@1"))
    status, out, _ = pipeline("status")
    assert status == 1
    assert "shop v1: dead: process" in out
    assert "start it again: barnabas pipeline run" in out
    failed = FlowStatus("f", State.FAILED, time.time(), last_error="the disk is full")
    statuses.write(folder, some_status(flows=(failed,)))
    status, out, _ = pipeline("status")
    assert status == 1
    assert out.endswith("\nlast error of f: the disk is full\n")
    statuses.write(folder, some_status(updated_at=time.time() - 600))
    assert pipeline("status")[0] == 1


def test_status_without_a_broker_ends_with_1(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": ""})
    error = "cannot reach localhost:9092: Connection refused; is the broker running?"
    flows = [FlowStatus(name, State.BLOCKED, time.time(), batch_id=3, last_error=error) for name in ("f", "g")]
    folder = tmp_path / ".barnabas" / "v1"
    statuses.write(folder, some_status(flows=(*flows, FlowStatus("h", State.RETRYING, time.time(), last_error="odd"))))
    status, out, _ = pipeline("status")
    assert status == 1
    assert out.startswith("shop v1: degraded: 2 flows blocked, 1 flow retrying; process ")
    assert out.endswith(f"\nlast error of f, g: {error}\nlast error of h: odd\n")
    assert json.loads(pipeline("status", "--format", "json")[1])[0]["health"] == "degraded"


def test_status_for_programs(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": ""})
    statuses.write(tmp_path / ".barnabas" / "v1", some_status())
    statuses.write(tmp_path / ".barnabas" / "v2", some_status(version="v2"))
    found = json.loads(pipeline("status", "--format", "json")[1])
    assert [(each["version"], each["health"]) for each in found] == [("v1", "running"), ("v2", "running")]
    assert found[0]["flows"][0]["lag"] == 42
    assert len(json.loads(pipeline("status", "--version", "v2", "--format", "json")[1])) == 1


def test_watching_ends_with_the_pipeline(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": ""})
    ended = FlowStatus("f", State.FINISHED, time.time())
    statuses.write(tmp_path / ".barnabas" / "v1", some_status(flows=(ended,)))
    status, out, _ = pipeline("status", "--watch", "--format", "json")
    assert status == 0
    assert [json.loads(line)[0]["health"] for line in out.splitlines()] == ["finished"]


@pytest.mark.parametrize("version", ["../v1", "", "a b", ".", "v" * 40])
def test_a_version_is_a_plain_name(pipeline: Pipeline, tmp_path: Path, version: str) -> None:
    write(tmp_path, {"pipeline.yaml": f"{HEAD}{SOURCES}{FLOWS}"})
    for command in ("status", "stop"):
        status, _, err = pipeline(command, "--version", version)
        assert status == 1
        assert err.startswith(f"error: `{version}` cannot be the name of a version\nhint: use at most 31 letters")
    with pytest.raises(UserError, match="cannot be the name of a version"):
        load(tmp_path).checkpoint("large", version)


def test_stop_when_nothing_runs(pipeline: Pipeline, tmp_path: Path) -> None:
    write(tmp_path, {"pipeline.yaml": ""})
    assert pipeline("stop")[2].startswith("error: version v1 of this project is not running\nhint: ")


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0 s"), (5, "5 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 d")]
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert ago(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 KB"), (10**7, "10 MB"), (10**16, "10000 TB")]
)
def test_sizes_are_short(count: int, text: str) -> None:
    assert size(count) == text


HEAVY = ("pyspark", "pyarrow", "numpy", "pandas", "confluent_kafka", "kio", "asyncio")


@pytest.mark.parametrize("arguments", [["--help"], ["init", "x"], ["check", "-C", "."], ["graph"], ["status"]])
def test_nothing_heavy_is_imported(tmp_path: Path, arguments: list[str]) -> None:
    write(tmp_path, {"pipeline.yaml": f"{HEAD}{SOURCES}{FLOWS}"})
    code = (
        f"import sys\nfrom barnabas.cli.main import run\nassert run(['pipeline', *{arguments!r}]) == 0\n"
        "print('MODULES', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(done.stdout.partition("MODULES ")[2].split())
    assert not {name for name in loaded if name.split(".")[0] in HEAVY}
    if arguments in (["--help"], ["status"]):
        assert "yaml" not in loaded


def test_help_lists_the_commands(pipeline: Pipeline) -> None:
    status, out, _ = pipeline("--help")
    assert status == 0
    for name in ("init", "check", "graph", "status", "stop"):
        assert f"  {name} " in out
