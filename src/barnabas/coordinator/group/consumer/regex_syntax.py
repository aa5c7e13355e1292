"""Parses the regular expressions that select topics: RE2's syntax, as in Kafka.

That is Perl's syntax without backreferences, look-around and possessive quantifiers, which need backtracking. Topic
names have only 65 different characters, so every character class is a set of those.
"""

import unicodedata
from typing import Final, NamedTuple

from barnabas.wire.errors import InvalidRegularExpression

LETTERS_AND_DIGITS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
ALPHABET: Final = frozenset(LETTERS_AND_DIGITS + "._-")
"""The characters of topic names."""

WORD: Final = ALPHABET - frozenset(".-")
DIGITS: Final = frozenset("0123456789")

REPEAT_MAX: Final = 1_000
"""RE2's limit."""
DEPTH_MAX: Final = 100
"""Of nested groups: far more than anyone writes, far less than the stack allows."""


class Chars(NamedTuple):
    accepted: frozenset[str]


class Assertion(NamedTuple):
    kind: str
    """One of: start, end, boundary, no boundary. Names are single lines, so ^ and $ match only at the ends."""


class Sequence(NamedTuple):
    nodes: "tuple[Node, ...]"


class Choice(NamedTuple):
    nodes: "tuple[Node, ...]"


class Repeat(NamedTuple):
    node: "Node"
    least: int
    most: int | None


Node = Chars | Assertion | Sequence | Choice | Repeat

_OCTAL_DIGITS: Final = frozenset("01234567")
_CLASSES: Final = {
    "d": DIGITS,
    "D": ALPHABET - DIGITS,
    "w": WORD,
    "W": ALPHABET - WORD,
    "s": frozenset[str](),
    "S": ALPHABET,
}
_ASSERTIONS: Final = {"A": "start", "z": "end", "b": "boundary", "B": "no boundary"}
_CONTROLS: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_LOWER: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_POSIX: Final = {
    "alnum": _LOWER | _UPPER | DIGITS,
    "alpha": _LOWER | _UPPER,
    "ascii": ALPHABET,
    "blank": frozenset[str](),
    "cntrl": frozenset[str](),
    "digit": DIGITS,
    "graph": ALPHABET,
    "lower": _LOWER,
    "print": ALPHABET,
    "punct": frozenset("._-"),
    "space": frozenset[str](),
    "upper": _UPPER,
    "word": WORD,
    "xdigit": DIGITS | frozenset("abcdefABCDEF"),
}
_SCRIPTS: Final = {"Any": ALPHABET, "Latin": _LOWER | _UPPER, "Common": ALPHABET - _LOWER - _UPPER}
_CATEGORIES: Final = frozenset(
    letters[0] + minor
    for letters in ("Ccfos", "Llmotu", "Mcen", "Ndlo", "Pcdefios", "Sckmo", "Zlps")
    for minor in ("", *letters[1:])
)


def parse(pattern: str) -> Node:
    """Raises InvalidRegularExpression that says what is wrong."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._depth = 0
        self._ignores_case = False
        self._names: set[str] = set()
        self._brace_end = -1
        """The end of the last brace that is not an operator."""

    def parse(self) -> Node:
        node = self._choice()
        if self._position < len(self._pattern):
            raise self._error("unexpected )")
        return node

    def _error(self, what: str) -> InvalidRegularExpression:
        return InvalidRegularExpression(
            f"SubscribedTopicRegex `{self._pattern[:200]}` is not a valid regular expression: {what}."
        )

    def _ahead(self, text: str) -> bool:
        return self._pattern.startswith(text, self._position)

    def _skip(self, text: str) -> bool:
        if self._ahead(text):
            self._position += len(text)
            return True
        return False

    def _next(self) -> str:
        if self._position >= len(self._pattern):
            raise self._error("it ends too early")
        self._position += 1
        return self._pattern[self._position - 1]

    def _until(self, end: str, what: str) -> str:
        found = self._pattern.find(end, self._position)
        if found < 0:
            raise self._error(what)
        text = self._pattern[self._position : found]
        self._position = found + len(end)
        return text

    def _choice(self) -> Node:
        branches = [self._sequence()]
        while self._skip("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        while self._position < len(self._pattern) and self._pattern[self._position] not in "|)":
            if self._skip(r"\Q"):
                nodes += [self._literal(char) for char in self._quoted()]
            elif (node := self._atom()) is not None:
                nodes.append(node)
            start = self._position
            operator = self._operator()
            if operator is not None:
                # After a group that only sets flags, the operator applies to what is before the group, as in RE2.
                if not nodes:
                    raise self._error(f"missing argument to repetition operator: `{self._pattern[start]}`")
                nodes[-1] = self._repeated(nodes[-1], operator, start)
        return Sequence(tuple(nodes))

    def _quoted(self) -> str:
        end = self._pattern.find(r"\E", self._position)
        end = len(self._pattern) if end < 0 else end
        quoted = self._pattern[self._position : end]
        self._position = min(end + 2, len(self._pattern))
        return quoted

    def _atom(self) -> Node | None:
        """None if the group only sets flags."""
        char = self._next()
        match char:
            case "(":
                return self._group()
            case "[":
                return Chars(self._class())
            case ".":
                return Chars(ALPHABET)
            case "^":
                return Assertion("start")
            case "$":
                return Assertion("end")
            case "*" | "+" | "?" | "{":
                self._position -= 1
                if self._operator() is not None:
                    raise self._error(f"missing argument to repetition operator: `{char}`")
                self._position += 1
                self._brace_end = self._position
            case "\\":
                return self._escape()
        return self._literal(char)

    def _literal(self, char: str) -> Chars:
        accepted = {char, char.lower(), char.upper()} if self._ignores_case else {char}
        return Chars(ALPHABET & accepted)

    def _group(self) -> Node | None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._error(f"more than {DEPTH_MAX} groups within each other")
        outer = self._ignores_case
        if self._skip("?"):
            if self._skip("P<") or (self._ahead("<") and not self._ahead("<=") and not self._ahead("<!")):
                self._skip("<")
                name = self._until(">", "invalid named capture")
                if not name or name in self._names or not name.replace("_", "a").isalnum():
                    raise self._error(f"invalid named capture: `{name}`")
                self._names.add(name)
            elif not self._flags():
                self._depth -= 1
                return None
        node = self._choice()
        if not self._skip(")"):
            raise self._error("missing closing )")
        self._ignores_case = outer
        self._depth -= 1
        return node

    def _flags(self) -> bool:
        """Whether a group follows; otherwise the flags apply to the rest of the enclosing group."""
        sets = True
        while True:
            char = self._next()
            if char == "i":
                self._ignores_case = sets
            elif char == "-" and sets:
                sets = False
            elif char in ":)":
                return char == ":"
            elif char not in "msU":  # multi-line, dot-all and greediness do not affect whether a name matches
                raise self._error("invalid or unsupported Perl syntax")

    def _repeated(self, node: Node, operator: tuple[int, int | None], start: int) -> Node:
        self._skip("?")
        # RE2/J treats a brace that is not an operator as a repetition here, and so do we.
        if self._operator() is not None or self._brace_end == start:
            raise self._error("invalid nested repetition operator")
        return Repeat(node, *operator)

    def _operator(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skip(sign):
                return bounds
        if not self._ahead("{"):
            return None
        end = self._pattern.find("}", self._position)
        least, comma, most = self._pattern[self._position + 1 : max(end, 0)].partition(",")
        if not _is_number(least) or not (most == "" or _is_number(most)):
            return None  # then it is a literal brace
        if len(least) > 4 or len(most) > 4:
            raise self._error("invalid repeat count")
        low, high = int(least), int(most) if most else (None if comma else int(least))
        if max(low, high or 0) > REPEAT_MAX or (high is not None and high < low):
            raise self._error("invalid repeat count")
        self._position = end + 1
        return low, high

    def _escape(self) -> Node:
        char = self._next()
        if char in _ASSERTIONS:
            return Assertion(_ASSERTIONS[char])
        if char in _CLASSES:
            return Chars(_CLASSES[char])
        if char in "pP":
            return Chars(self._property(negated=char == "P"))
        return self._literal(self._escaped_char(char))

    def _escaped_char(self, char: str) -> str:
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "x":
            digits = self._until("}", "invalid escape sequence") if self._skip("{") else self._next() + self._next()
            if not digits or len(digits) > 6 or not frozenset(digits) <= _POSIX["xdigit"] or int(digits, 16) > 0x10FFFF:
                raise self._error("invalid escape sequence")
            return chr(int(digits, 16))
        # A single digit is a backreference.
        if char == "0" or (
            char in _OCTAL_DIGITS and self._pattern[self._position : self._position + 1] in _OCTAL_DIGITS
        ):
            digits = char
            while (
                len(digits) < 3 and self._position < len(self._pattern) and self._pattern[self._position] in "01234567"
            ):
                digits += self._next()
            return chr(int(digits, 8))
        if char.isalnum() and char.isascii():
            raise self._error(f"invalid escape sequence: `\\{char}`")
        return char

    def _octal_follows(self) -> bool:
        return self._pattern[self._position : self._position + 1] in _OCTAL_DIGITS

    def _property(self, *, negated: bool) -> frozenset[str]:
        name = self._until("}", "invalid character class range") if self._skip("{") else self._next()
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        if name in _SCRIPTS:
            accepted = _SCRIPTS[name]
        elif name in _CATEGORIES:
            accepted = frozenset(char for char in ALPHABET if unicodedata.category(char).startswith(name))
        else:
            raise self._error(f"invalid character class range: `{name}`")
        accepted = self._folded(accepted)
        return ALPHABET - accepted if negated else accepted

    def _folded(self, accepted: frozenset[str]) -> frozenset[str]:
        if not self._ignores_case:
            return accepted
        return accepted | (ALPHABET & {changed for char in accepted for changed in (char.lower(), char.upper())})

    def _class(self) -> frozenset[str]:
        negated = self._skip("^")
        accepted: frozenset[str] = frozenset()
        is_first = True
        while is_first or not self._ahead("]"):
            if self._position >= len(self._pattern):
                raise self._error("missing closing ]")
            accepted |= self._class_item()
            is_first = False
        self._position += 1
        accepted = self._folded(accepted)
        return ALPHABET - accepted if negated else accepted

    def _class_item(self) -> frozenset[str]:
        if self._skip("[:"):
            name = self._until(":]", "missing closing ]")
            known = _POSIX.get(name.removeprefix("^"))
            if known is None:
                raise self._error(f"invalid character class range: `[:{name}:]`")
            return ALPHABET - known if name.startswith("^") else known
        char = self._next()
        if char == "\\":
            char = self._next()
            if char in _CLASSES:
                return _CLASSES[char]
            if char in "pP":
                return self._property(negated=char == "P")
            char = self._escaped_char(char)
        if not self._ahead("-") or self._ahead("-]"):
            return ALPHABET & {char}
        self._position += 1
        last = self._next()
        if last == "\\":
            last = self._escaped_char(self._next())
        if last < char:
            raise self._error(f"invalid character class range: `{char}-{last}`")
        return frozenset(each for each in ALPHABET if char <= each <= last)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
