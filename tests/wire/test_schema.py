"""One declaration, many formats: each version has the same bytes as if it were declared alone."""

import pytest

from barnabas.wire.codec import decode_versioned, encode, encode_versioned
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.schema import Message, array, int32, int64, since, string, within


class Item(Message, versions=(0, 3), flexible_since=3):
    name: str = string()
    weight: int = since(2, int32(7))


class Box(Message, versions=(0, 3), flexible_since=3):
    label: str = string()
    expiry: int = within(1, 1, int64(-1))
    items: tuple[Item, ...] = array(Item)
    size: int = since(3, int32(tag=0))


class ItemV1(Message, versions=(1, 1), flexible_since=2):
    name: str = string()


class BoxV1(Message, versions=(1, 1), flexible_since=2):
    label: str = string()
    expiry: int = int64(-1)
    items: tuple[ItemV1, ...] = array(ItemV1)


class ItemV3(Message, versions=(3, 3), flexible_since=0):
    name: str = string()
    weight: int = int32()


class BoxV3(Message, versions=(3, 3), flexible_since=0):
    label: str = string()
    items: tuple[ItemV3, ...] = array(ItemV3)
    size: int = int32(tag=0)


BOX = Box(label="b", expiry=5, items=(Item(name="i", weight=3), Item(name="j")), size=9)


def test_a_version_has_its_own_fields() -> None:
    first = BoxV1(label="b", expiry=5, items=(ItemV1(name="i"), ItemV1(name="j")))
    assert encode_versioned(BOX, 1) == b"\0\1" + encode(first)
    third = BoxV3(label="b", items=(ItemV3(name="i", weight=3), ItemV3(name="j", weight=7)), size=9)
    assert encode_versioned(BOX, 3) == b"\0\3" + encode(third)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_what_a_version_cannot_say_comes_back_as_the_default(version: int) -> None:
    weight = 3 if version >= 2 else 7
    assert decode_versioned(Box, encode_versioned(BOX, version)) == Box(
        label="b",
        expiry=5 if version == 1 else -1,
        items=(Item(name="i", weight=weight), Item(name="j")),
        size=9 if version == 3 else 0,
    )


@pytest.mark.parametrize("stored", [b"", b"\0", b"\0\4", b"\xff\xff", b"\0\1", encode_versioned(BOX, 1)[:-1]])
def test_what_cannot_be_read_is_told(stored: bytes) -> None:
    with pytest.raises(CorruptMessage):
        decode_versioned(Box, stored)
