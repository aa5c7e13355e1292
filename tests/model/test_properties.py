"""Properties are read as java.util.Properties reads them, except that blanks at the end of a value are dropped."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.properties import NotProperties, parse_properties


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
        ("\\\n\na=1\n\\\n \\\n", {"a": "1"}),
    ],
)
def test_properties(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_the_properties_syntax_is_javas() -> None:
    text = (
        "# comment\n! comment\n\na=1\nb : 2\r\nc 3\nd\n  e = x \\\n    y\\\n    z\n"
        "f\\ g\\=h=i\nuni=\\u00e9\\t|\nk=v=w:x\nback=c:\\\\dir\\\\\nlast=\\"
    )
    assert parse_properties(text) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d": "",
        "e": "x yz",
        "f g=h": "i",
        "uni": "é\t|",
        "k": "v=w:x",
        "back": "c:\\dir\\",
        "last": "",
    }
    with pytest.raises(NotProperties, match="Malformed"):
        parse_properties("a=\\u12")


@given(st.dictionaries(st.text(min_size=1), st.text().map(str.strip)))
def test_escaped_properties_read_back(properties: dict[str, str]) -> None:
    def escape(text: str) -> str:
        return "".join(c if c.isascii() and c.isalnum() else _unicode_escape(c) for c in text)

    text = "\n".join(f"{escape(key)}={escape(value)}" for key, value in properties.items())
    read = parse_properties(text)
    assert {k.encode("utf-16", "surrogatepass").decode("utf-16"): _joined(v) for k, v in read.items()} == properties


def _unicode_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def _joined(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


@given(st.text())
def test_no_text_breaks_the_properties_parser(text: str) -> None:
    with contextlib.suppress(NotProperties):
        parse_properties(text)
