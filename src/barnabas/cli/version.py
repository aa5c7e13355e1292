"""`barnabas version`."""

import typer

from barnabas import __version__


def version() -> None:
    """Show the version."""
    print(f"barnabas {__version__}")


def show_and_exit(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit
