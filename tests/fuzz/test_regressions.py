"""Inputs that once caused a failure, each with its effect."""

import pytest
from fuzz.targets import TARGETS

REGRESSIONS = [
    pytest.param(
        "requests",
        b"\x00\x03\x00\x0c\x00\x00\x00\x01\xff\xff\x00" + b"\xff\xff\xff\xff\x0f\x00",
        id="an array of 2^32-1 topics ended the process",
    ),
    pytest.param(
        "requests",
        b"\x00\x0c\x00\x04\x00\x00\x00\x01\xff\xff\x00" + b"\x02g\x00\x00\x00\x00\x02m\x00" + b"\x01\x2d\x01x",
        id="an unknown tagged field was a KeyError",
    ),
    pytest.param(
        "requests",
        b"\x00\x09\x00\x09\x00\x00\x00\x01\xff\xff\x00"
        + b"\x02\x02g\x80\x00\x00\x00\x00\x00\x02\x02t\x01\x00\x00\x00\x00",
        id="two bytes of zero for a null string",
    ),
    pytest.param(
        "group_records",
        b"\x05\x00\x02\x00\x01g" + b"\x00\x01\x00\x08consumer" + bytes(4) + b"\xff\xff" * 2 + b"\xff\xff\xff\xff",
        id="null where a group has its members was a TypeError",
    ),
    pytest.param(
        "group_records",
        b"\x05\x00\x02\x00\x01g"
        + b"\x00\x03\x00\x08consumer"
        + bytes(4)
        + b"\xff\xff" * 2
        + bytes(8)
        + b"\x7f\xff\xff\xff",
        id="2^31-1 members of a group ended the process",
    ),
    pytest.param(
        "produce_preambles",
        b"\x00\x00\x00\x0d\x0c\xa81\x0f\x00\x00"
        + b"\x00\x00\x00\x01"
        + bytes(4)
        + b"\x02"
        + b"t" * 16
        + b"\x02\x00\x00\x00\x01"
        + bytes(3),
        id="records that are null were taken for records, in a request that is a byte too short",
    ),
    pytest.param("checkpoints", b"0\n0\n", id="an epoch below zero was an IndexError where none is known"),
]


@pytest.mark.parametrize(("name", "data"), REGRESSIONS)
def test_it_does_no_harm_any_more(name: str, data: bytes) -> None:
    TARGETS[name].run(data)
