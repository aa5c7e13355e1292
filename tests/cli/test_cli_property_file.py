"""Property files are read as java.util.Properties reads them."""

from pathlib import Path

import pytest

from barnabas.cli.errors import CommandFailed
from barnabas.cli.property_file import read_property_file
from barnabas.metadata.configs.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b c ", {"a": "b c"}),
        ("a: b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a==b", {"a": "=b"}),
        ("# note\n! note\n\n  \n a=b", {"a": "b"}),
        ("a=b\\\n   c\nd=e", {"a": "bc", "d": "e"}),
        ("a=b\\\\\nd=e", {"a": "b\\", "d": "e"}),
        ("a=b\\", {"a": "b"}),
        ("a\\ b\\==c\\td\\u00e9", {"a b=": "c\tdé"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b#c", {"a": "b#c"}),
        ("listeners=PLAINTEXT://:9092,B://:1", {"listeners": "PLAINTEXT://:9092,B://:1"}),
        ("a=1\\\n#no comment", {"a": "1#no comment"}),
    ],
)
def test_properties(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_a_file_that_is_no_text_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CommandFailed, match="not text"):
        read_property_file(str(path))
