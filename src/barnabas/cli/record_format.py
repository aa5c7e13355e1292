"""How `barnabas consume` prints a record: its value, a JSON object, or the user's template."""

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.cli.errors import CommandFailed

if TYPE_CHECKING:
    from confluent_kafka import Message

Render = Callable[["Message"], bytes]

FIELDS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\0": "\0"}


def renderer(text: str) -> Render:
    if text == "text":
        return lambda message: (message.value() or b"") + b"\n"
    if text == "json":
        return lambda message: json.dumps(as_object(message), ensure_ascii=False).encode() + b"\n"
    if "{" not in text:
        raise CommandFailed(
            f"there is no format {text!r}", hint="choose text, json, or a template such as '{key} {value}'"
        )
    return _template(text)


def as_object(message: "Message") -> dict[str, object]:
    """The record for JSON: bytes that are not UTF-8 appear as `<name>_base64`."""
    found: dict[str, object] = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
    }
    for name, data in (("key", message.key()), ("value", message.value())):
        found.update([_json_field(name, _bytes(data))])
    headers = message.headers() or []
    found["headers"] = [{"key": key, **dict([_json_field("value", _bytes(value))])} for key, value in headers]
    return found


def _template(text: str) -> Render:
    for written, meant in _ESCAPES.items():
        text = text.replace(written, meant)
    try:
        text.format_map(dict.fromkeys(FIELDS, ""))
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        raise CommandFailed(
            f"the template {text!r} has an unknown field: {error}",
            hint="fields are " + ", ".join(f"{{{name}}}" for name in FIELDS),
        ) from error

    def render(message: "Message") -> bytes:
        values = {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": message.timestamp()[1],
            "key": _text(message.key()),
            "value": _text(message.value()),
            "headers": ",".join(f"{key}={_text(value)}" for key, value in message.headers() or []),
        }
        return text.format_map(values).encode(errors="surrogateescape") + b"\n"

    return render


def _text(data: str | bytes | None) -> str:
    """Keeps bytes that are not UTF-8."""
    return (_bytes(data) or b"").decode(errors="surrogateescape")


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def _json_field(name: str, data: bytes | None) -> tuple[str, str | None]:
    if data is None:
        return name, None
    try:
        return name, data.decode()
    except UnicodeDecodeError:
        return f"{name}_base64", base64.b64encode(data).decode()
