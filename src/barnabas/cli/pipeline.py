"""`barnabas pipeline`: projects of SQL and Python on Spark. `init`, `check`, `graph`, `status`, `stop` need no Java."""

from importlib.util import find_spec

import typer

from barnabas.cli import (
    pipeline_dead_letters,
    pipeline_project,
    pipeline_spark,
    pipeline_status,
    pipeline_versions,
)

app = typer.Typer(
    help="Make, check, draw, try and run pipelines from topics to topics and tables.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_COMMANDS = (
    ("init", pipeline_project.init, "project"),
    ("check", pipeline_project.check, "project"),
    ("graph", pipeline_project.graph, "graph"),
    ("preview", pipeline_spark.preview, "preview"),
    ("test", pipeline_spark.check_cases, "fixtures"),
    ("run", pipeline_spark.run, "run"),
    ("status", pipeline_status.status, "status"),
    ("stop", pipeline_status.stop, "stop"),
    ("dead-letters", pipeline_dead_letters.dead_letters, "dead_letters"),
    ("replay-dead-letters", pipeline_dead_letters.replay_dead_letters, "dead_letters_replay"),
    ("replay", pipeline_versions.replay, "replay"),
    ("compare", pipeline_versions.compare, "replay"),
    ("switch", pipeline_versions.switch, "replay"),
    ("versions", pipeline_versions.versions, "replay"),
)
"""Name, function, and the module of `barnabas.pipeline` that does the work: a command without one is not offered."""

for _name, _function, _module in _COMMANDS:
    # Looked for beside its package, not imported: nobody who asks for help waits for Spark.
    if find_spec(f"barnabas.pipeline.{_module}") is not None:
        app.command(_name)(_function)
