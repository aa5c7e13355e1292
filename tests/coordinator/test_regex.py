import re
import string
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.coordinator.core.regex import Regex, compile_regex, matching
from barnabas.wire.errors import InvalidRegularExpression


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        ("foo.*", ["foo", "foo.bar"], ["xfoo", "fo"]),
        ("^a$|b+", ["a", "bbb"], ["ab", ""]),
        ("(?i)FOO[a-c]{2}", ["fooAb"], ["food"]),
        ("(?i:a)b", ["Ab", "ab"], ["AB"]),
        (r"(?i)\p{Lu}", ["a", "A"], ["1"]),
        (r"\Qa.b\E.", ["a.bc"], ["axbc", "a.b"]),
        (r"\Qa.\E+", ["a..."], ["a.a."]),
        ("ab(?i)+", ["abbb"], ["a"]),
        (r"a\{+|b", ["b"], ["a"]),
        (r"\bfoo\b.*", ["foo.x", "foo"], ["foox"]),
        (r"a\B.*", ["ab"], ["a.b"]),
        ("[[:alpha:]_-]+", ["ab_-"], ["a1"]),
        ("[^[:digit:]x]", ["a"], ["1", "x"]),
        ("(a|b){2,3}", ["ab", "aba"], ["a", "abab"]),
        ("a{2,}", ["aa", "aaaa"], ["a"]),
        ("(?:)*a", ["a"], ["b"]),
        (r"\p{Lu}\pN", ["A1"], ["a1"]),
        (r"\P{L}", ["1"], ["a"]),
        (r"[\w-]+\.\d", ["a-b.1"], ["a.b"]),
        (r"\x61\x{62}\141", ["aba"], ["ab"]),
        ("[a-]+", ["a-"], ["b"]),
        ("[]a]", ["a"], ["b"]),
        ("(?P<year>20..)", ["2026"], ["1999"]),
        ("a{,3}", [], ["aa"]),
        ("", [""], ["a"]),
    ],
)
def test_patterns(pattern: str, accepted: list[str], refused: list[str]) -> None:
    expression = Regex(pattern)
    assert [name for name in accepted if not expression.matches(name)] == []
    assert [name for name in refused if expression.matches(name)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a)",
        "[a",
        "a**",
        "a{2}{3}",
        "a|{2}",
        "(?i)*",
        "*",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        r"(a)\1",
        "a{1001}",
        "a{2,1}",
        r"\pX",
        "[[:foo:]]",
        "[z-a]",
        "((a{100}){100}){100}",
        "(((){1000}){1000}){1000}",
        "(?z)",
        "(?i",
        "\\",
        "(a" * 3_000 + ")*" * 3_000,
    ],
)
def test_what_is_no_regular_expression_of_re2(pattern: str) -> None:
    with pytest.raises(InvalidRegularExpression, match="is not a valid regular expression"):
        compile_regex(pattern)


def test_patterns_that_ruin_others_take_no_time() -> None:
    """Python's own engine would be at this for longer than the universe has been."""
    assert not Regex("(a+)+b").matches("a" * 249)
    assert not Regex("(a|a)*(a|a)*(a|a)*b").matches("a" * 249)
    assert not Regex("[01]*1[01]{800}").matches("01" * 120)
    assert not Regex("(" * 16_000 + ")" * 16_000).matches("a" * 249)


def test_a_stored_pattern_that_is_not_valid_stands_for_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert matching("(", ["a"]) == []
    assert "matches no topic" in caplog.text


def _classes() -> st.SearchStrategy[str]:
    return st.sampled_from([".", "[ab]", "[^a]", r"\d", r"\w", "[a-c1-3]", "a", "b", "1", r"\.", "-"])


def _patterns() -> st.SearchStrategy[str]:
    return st.recursive(
        _classes(),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
            st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}?", "+?"])).map(
                lambda pair: f"(?:{pair[0]}){pair[1]}"
            ),
            inner.map(lambda node: rf"\b{node}"),
            inner.map(lambda node: f"{node}$"),
        ),
        max_leaves=6,
    )


names = st.text(alphabet="ab1.-" + string.ascii_uppercase[:1], max_size=8)


@given(_patterns(), st.lists(names, max_size=8))
@example(r"(?:a|\b)*b", ["b", "ab"])
def test_it_agrees_with_pythons_engine(pattern: str, candidates: list[str]) -> None:
    """On patterns that mean the same to both engines, and are short enough for Python's."""
    reference = re.compile(pattern, re.ASCII)
    expression = Regex(pattern)
    for name in candidates:
        assert expression.matches(name) == (reference.fullmatch(name) is not None), name


SIGNS = "ab()[]{}|*+?\\^$.-,:0123456789QEpPxdwbBAzi<>P=!&"


@given(st.one_of(st.text(max_size=30), st.text(alphabet=SIGNS, max_size=30)))
def test_any_text_is_an_expression_or_is_refused(pattern: str) -> None:
    with suppress(InvalidRegularExpression):
        Regex(pattern).matches("a-topic.name_1")
