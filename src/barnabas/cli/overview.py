"""`barnabas --help`: all commands by section, printed without importing typer."""

from barnabas.cli.commands import SECTIONS

_HEAD = """\
Usage: barnabas [OPTIONS] COMMAND [ARGUMENTS]...

A broker that speaks the Apache Kafka protocol, and the tools to work with any such broker.
"""

_OPTIONS = {
    "-b, --bootstrap-server HOST:PORT": "Where the broker listens; may also come after the command.",
    "--profile NAME": "The profile to connect with; may also come after the command.",
    "-V, --version": "Show the version and exit.",
    "-h, --help": "Show this page; after a command, its own page.",
}


def overview() -> str:
    parts = [_HEAD, _table("Options", _OPTIONS)]
    parts += [_table(title, commands) for title, commands in SECTIONS.items()]
    return "\n".join(parts)


def _table(title: str, rows: dict[str, str]) -> str:
    width = max(map(len, rows))
    return f"{title}:\n" + "".join(f"  {name:<{width}}  {about}\n" for name, about in rows.items())
