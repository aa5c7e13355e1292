"""The typer application: every command in its own module, none of which imports a client library or rich on its own."""

from typing import Annotated

import typer

from barnabas.cli import consume, group, produce, serve, topic, version

app = typer.Typer(
    help="A broker that speaks the Apache Kafka protocol, and the tools to work with any such broker.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


@app.command(
    "serve",
    help=serve.SUMMARY,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def serve_(context: typer.Context) -> None:
    raise typer.Exit(serve.serve(context.args))


app.add_typer(topic.app, name="topic")
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.add_typer(group.app, name="group")
app.command("version")(version.version)
