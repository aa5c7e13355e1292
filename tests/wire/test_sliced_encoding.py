"""Slices are what kio writes in one go, and a long response has many of them."""

import dataclasses
import importlib
import io
from typing import Any

import pytest

from barnabas.wire.api_table import APIS, Api
from barnabas.wire.codec import encode_response, response_schema
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from barnabas.wire.sliced_encoding import ENTITIES_IN_A_SLICE, encode_in_slices


def in_slices(api_name: str, version: int, response: object) -> tuple[bytes, int]:
    buffer = io.BytesIO()
    pauses = sum(1 for _ in encode_in_slices(api_name, version, response, buffer))
    return buffer.getvalue(), pauses


def with_elements(shapes: Any, shape: Any, schema: Any, count: int) -> Any:
    """A response with so many elements in each of its lists of entities, on every level."""
    filled: dict[str, Any] = {}
    for field in dataclasses.fields(schema):
        kind: Any = field.type
        element: Any = next((each for each in getattr(kind, "__args__", ()) if dataclasses.is_dataclass(each)), None)
        if element is not None and getattr(kind, "__origin__", None) is tuple:
            filled[field.name] = (with_elements(shapes, getattr(shapes, element.__name__), element, 2),) * count
        elif hasattr(kind, "__flexible__") and "tag" not in field.metadata:
            filled[field.name] = with_elements(shapes, getattr(shapes, kind.__name__), kind, 2)
    return shape(**filled)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_the_bytes_are_those_of_the_whole(api: Api) -> None:
    shapes = importlib.import_module(f"barnabas.wire.messages.{api.name}")
    shape = getattr(shapes, "".join(word.capitalize() for word in api.name.split("_")) + "Response")
    for version in range(api.version_min, api.version_max + 1):
        response = with_elements(shapes, shape, response_schema(api.name, version), ENTITIES_IN_A_SLICE + 1)
        assert in_slices(api.name, version, response)[0] == encode_response(api.name, version, response)


def test_a_short_response_has_no_pause() -> None:
    assert in_slices("describe_groups", 5, DescribeGroupsResponse(groups=(DescribedGroup(group_id="g"),)))[1] == 0


def test_a_long_response_has_a_pause_every_few_entities() -> None:
    groups = tuple(DescribedGroup(group_id=str(index)) for index in range(10 * ENTITIES_IN_A_SLICE))
    assert in_slices("describe_groups", 5, DescribeGroupsResponse(groups=groups))[1] == 9


def test_a_long_list_within_an_element_has_pauses_too() -> None:
    members = tuple(DescribedGroupMember(member_id=str(index)) for index in range(10 * ENTITIES_IN_A_SLICE))
    response = DescribeGroupsResponse(groups=(DescribedGroup(group_id="g", members=members),))
    data, pauses = in_slices("describe_groups", 5, response)
    assert pauses == 9
    assert data == encode_response("describe_groups", 5, response)
