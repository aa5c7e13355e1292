"""The typer application: every command in its own module, none of which imports a client library or rich on its own."""

from collections.abc import Callable
from typing import Annotated

import typer

from barnabas.cli import (
    archive,
    cluster,
    completion,
    config,
    consume,
    group,
    log,
    pipeline,
    produce,
    serve,
    spark,
    topic,
    txn,
    version,
)
from barnabas.cli.kafka.scripts import SCRIPTS, run_script

app = typer.Typer(
    help="A broker that speaks the Apache Kafka protocol, and the tools to work with any such broker.",
    no_args_is_help=True,
    add_completion=False,  # `barnabas completion` prints a script that needs no Python at every keystroke
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_OWN_FLAGS = {"ignore_unknown_options": True, "allow_extra_args": True}


@app.callback()
def root(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Show the version and exit.", callback=version.show_and_exit, is_eager=True
        ),
    ] = False,
) -> None:
    """The options of `barnabas` itself."""


@app.command("serve", help=serve.SUMMARY, add_help_option=False, context_settings=_OWN_FLAGS)
def serve_(context: typer.Context) -> None:
    raise typer.Exit(serve.serve(context.args))


app.add_typer(topic.app, name="topic")
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.add_typer(group.app, name="group")
app.add_typer(txn.app, name="txn")
app.add_typer(config.app, name="config")
app.add_typer(cluster.app, name="cluster")
app.add_typer(log.app, name="log")
app.add_typer(archive.app, name="archive")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(spark.app, name="spark")
app.command("completion")(completion.completion)
app.command("version")(version.version)


def _script(name: str) -> Callable[[typer.Context], None]:
    def call(context: typer.Context) -> None:
        raise typer.Exit(run_script(name, context.args))

    return call


for _name, _about in SCRIPTS.items():
    _register = app.command(_name, help=_about.summary, add_help_option=False, context_settings=_OWN_FLAGS)
    _register(_script(_name))
