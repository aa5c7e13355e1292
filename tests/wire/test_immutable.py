"""Messages are values: neither their fields nor anything in these can be changed, so they may be shared and kept."""

import datetime
import random
import uuid
from typing import Any

import pytest
from fuzz.random_messages import RandomMessages
from fuzz.targets.codec import messages, stored_records

from barnabas.wire.codec import encode
from barnabas.wire.reader import message_reader
from barnabas.wire.schema import Field, Message

IMMUTABLE = (int, float, str, bytes, uuid.UUID, datetime.datetime, datetime.timedelta, type(None))
"""IntEnum and bool are integers."""
MESSAGES = {each.shape: each.version for each in (*messages(), *stored_records())}
"""With their last versions."""
BY_ROOM: dict[str, list[type[Message]]] = {}
for _shape in MESSAGES:
    BY_ROOM.setdefault(_shape.__module__, []).append(_shape)


def shapes_within(shape: type[Message]) -> set[type[Message]]:
    found = {shape}
    for field in shape.layout.fields.values():
        of: Field = field.element or field
        if of.entity is not None and of.entity is not shape:
            found |= shapes_within(of.entity)
    return found


def assert_immutable(value: Any) -> None:
    if type(value) is tuple:
        for each in value:
            assert_immutable(each)
    elif isinstance(value, Message):
        for name in value.layout.fields:
            assert_immutable(getattr(value, name))
    else:
        assert isinstance(value, IMMUTABLE), f"{value!r} can be changed"


@pytest.mark.parametrize("module", BY_ROOM)
def test_fields_can_be_neither_set_nor_deleted(module: str) -> None:
    for shape in set().union(*map(shapes_within, BY_ROOM[module])):
        message = shape()
        for name in shape.layout.fields:
            with pytest.raises(AttributeError):
                setattr(message, name, None)
            with pytest.raises(AttributeError):
                delattr(message, name)
        with pytest.raises(AttributeError):
            message.no_such_field = None
        assert_immutable(message)


@pytest.mark.parametrize("module", BY_ROOM)
def test_what_is_read_is_immutable_in_every_part(module: str) -> None:
    for shape in BY_ROOM[module]:
        version = MESSAGES[shape]
        for seed in range(3):
            message = RandomMessages(random.Random(seed)).entity(shape, version)
            read, _ = message_reader(shape, version)(encode(message, version), 0)
            assert_immutable(read)
            assert hash(read) == hash(message)


def test_a_changed_copy_leaves_the_message_as_it_was() -> None:
    for shape, version in MESSAGES.items():
        message = RandomMessages(random.Random(7)).entity(shape, version)
        before = encode(message, version)
        for name in shape.layout.fields:
            message.replace(**{name: shape.layout.fields[name].default})
        assert encode(message, version) == before
