"""The command `barnabas`: one file per command. stdout is data; stderr is for people.

What a command does not need is not imported: `serve` never sees typer, rich or a client library.
"""
