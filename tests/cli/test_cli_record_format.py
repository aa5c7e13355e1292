"""The format of records on stdout."""

import json
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from barnabas.cli.errors import CommandFailed
from barnabas.cli.record_format import renderer


def message(**fields: Any) -> Message:
    known = {
        "topic": "orders",
        "partition": 2,
        "offset": 7,
        "key": b"k",
        "value": b"v",
        "headers": [("h", b"1"), ("i", None)],
        "timestamp": (TIMESTAMP_CREATE_TIME, 1234),
    }
    return Message(**{**known, **fields})


def test_text_is_the_value() -> None:
    assert renderer("text")(message()) == b"v\n"
    assert renderer("text")(message(value=b"\xff\x00")) == b"\xff\x00\n"
    assert renderer("text")(message(value=None)) == b"\n"


def test_json_has_everything() -> None:
    assert json.loads(renderer("json")(message())) == {
        "topic": "orders",
        "partition": 2,
        "offset": 7,
        "timestamp": 1234,
        "key": "k",
        "value": "v",
        "headers": [{"key": "h", "value": "1"}, {"key": "i", "value": None}],
    }


def test_json_keeps_bytes_that_are_no_text() -> None:
    found = json.loads(renderer("json")(message(key=None, value=b"\xff\x00", headers=None)))
    assert found["key"] is None
    assert found["value_base64"] == "/wA="
    assert "value" not in found
    assert found["headers"] == []


def test_a_template() -> None:
    render = renderer(r"{topic}/{partition}@{offset}\t{timestamp} {key}={value} {headers}")
    assert render(message()) == b"orders/2@7\t1234 k=v h=1,i=\n"
    assert renderer("{value}")(message(value=b"\xff")) == b"\xff\n"


@pytest.mark.parametrize("text", ["xml", "{nonsense}", "{", "{0}", "{value.x}"])
def test_what_cannot_be_rendered_is_explained(text: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        renderer(text)
    assert "{value}" in caught.value.hint
