"""KEY=VALUE as people type it in `--set`, `--config`, `--header` and `--client-config`."""

from collections.abc import Iterable

from barnabas.cli.errors import CommandFailed


def parse_pairs(option: str, values: Iterable[str] | None) -> dict[str, str]:
    """Later ones win; a value may hold further '=' signs."""
    return dict(parse_pair(option, value) for value in values or ())


def parse_pair(option: str, text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise CommandFailed(f"{option} wants KEY=VALUE, not {text!r}", hint=f"try: {option} some.name=value")
    return key.strip(), value
