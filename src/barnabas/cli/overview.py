"""`barnabas --help`: every command by section, in a page that is written without typer."""

from barnabas.cli.commands import SECTIONS

_HEAD = """\
Usage: barnabas [OPTIONS] COMMAND [ARGUMENTS]...

A broker that speaks the Apache Kafka protocol, and the tools to work with any such broker.
"""

_OPTIONS = {
    "-b, --bootstrap-server HOST:PORT": "Where the broker listens; as after the command.",
    "--profile NAME": "The profile to connect with; as after the command.",
    "-V, --version": "Show the version and exit.",
    "-h, --help": "Show this page, or with a command that command's page.",
}


def overview() -> str:
    parts = [_HEAD, _table("Options", _OPTIONS)]
    parts += [_table(title, commands) for title, commands in SECTIONS.items()]
    return "\n".join(parts)


def _table(title: str, rows: dict[str, str]) -> str:
    width = max(map(len, rows))
    return f"{title}:\n" + "".join(f"  {name:<{width}}  {about}\n" for name, about in rows.items())
