"""`barnabas pipeline`: SQL and Python on Spark. `init`, `check`, `graph`, `status` and `stop` need no Java."""

from barnabas.cli import (
    pipeline_dead_letters,
    pipeline_project,
    pipeline_spark,
    pipeline_status,
    pipeline_versions,
)
from barnabas.cli.apps import group_app

app = group_app("pipeline")

app.command("init")(pipeline_project.init)
app.command("check")(pipeline_project.check)
app.command("graph")(pipeline_project.graph)
app.command("preview")(pipeline_spark.preview)
app.command("test")(pipeline_spark.check_cases)
app.command("run")(pipeline_spark.run)
app.command("status")(pipeline_status.status)
app.command("stop")(pipeline_status.stop)
app.command("dead-letters")(pipeline_dead_letters.dead_letters)
app.command("replay-dead-letters")(pipeline_dead_letters.replay_dead_letters)
app.command("replay")(pipeline_versions.replay)
app.command("compare")(pipeline_versions.compare)
app.command("switch")(pipeline_versions.switch)
app.command("versions")(pipeline_versions.versions)
