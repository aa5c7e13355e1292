"""Every command on every page is one that exists, with flags that it has.

Pages are followed from top to bottom, too, each in an empty folder: `followed_pages.py` says by which tests. What takes
hours is only read here.
"""

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest

from barnabas.cli.commands import COMMANDS
from barnabas.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"^ *```(?:console|sh)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`((?:barnabas|make|python -m) [^`]+)`(?!`)")
_FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
_NAME = re.compile(r"[a-z][a-z-]*")
_HAS_SUBCOMMANDS = re.compile(r"COMMAND \[ARGS\]|\} \.\.\.")
_OPERATORS = "();<>|&"
_GLOBAL_OPTIONS = ("-b", "--bootstrap-server", "--profile")


def commands_on(page: Path) -> Iterator[list[str]]:
    """The words of each command that is ours, from blocks and from the text."""
    text = page.read_text()
    lines = [" ".join(found.split()) for found in _INLINE.findall(text)]
    for block in _BLOCK.findall(text):
        shown = [line.strip() for line in block.replace("\\\n", " ").splitlines()]
        has_output = any(line.startswith("$ ") for line in shown)
        lines += [line.removeprefix("$ ") for line in shown if line.startswith("$ ") or not has_output]
    for line in lines:
        yield from commands_in(line)


def commands_in(line: str) -> Iterator[list[str]]:
    words: list[str] = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace_split = True
    for word in [*lexer, ";"]:
        if set(word) <= set(_OPERATORS):
            if words[:1] in (["barnabas"], ["make"]) or words[:2] == ["python", "-m"]:
                yield words
            words = []
        else:
            words.append(word)


@cache
def help_of(*words: str) -> str | None:
    """None: there is no such command."""
    if words[0] == "barnabas":
        with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()):
            status = run([*words[1:], "--help"])
        return output.getvalue() if status == 0 else None
    done = subprocess.run(
        [sys.executable, *words[1:], "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout if done.returncode == 0 else None


def mistakes(words: list[str]) -> list[str]:
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return [word for word in words[1:] if _NAME.fullmatch(word) and word not in targets]
    if words[0] == "python":
        named, rest = words[:3], words[3:]
    else:
        rest = words[1:]
        while rest and rest[0] in _GLOBAL_OPTIONS:
            rest = rest[2:]
        if not rest or not _NAME.fullmatch(rest[0]):
            return []  # as in `barnabas --version`, `barnabas ...`
        named, rest = ["barnabas", rest[0]], rest[1:]
        if rest == [] and named[1] in COMMANDS:
            return []
    text = help_of(*named)
    if text is not None and _HAS_SUBCOMMANDS.search(text) and rest and _NAME.fullmatch(rest[0]):
        named, rest = [*named, rest[0]], rest[1:]
        text = help_of(*named)
    if text is None:
        return [" ".join(named)]
    flags = set(_FLAG.findall(text))
    return [word for word in rest if (flag := _FLAG.match(word)) and flag[0] not in flags]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    wrong = {" ".join(words): found for words in commands_on(page) if (found := mistakes(words))}
    assert not wrong


def test_commands_are_found_and_mistakes_too() -> None:
    assert sum(1 for page in PAGES for _ in commands_on(page)) > 200
    line = "cat x | barnabas -b h:1 topic create orders --partitons 3 && barnabas topics list; make cheque # why"
    assert [found for words in commands_in(line) for found in mistakes(words)] == [
        "--partitons",
        "barnabas topics",
        "cheque",
    ]
    assert mistakes(["python", "-m", "bench.first_test", "--rownds", "3"]) == ["--rownds"]
    assert mistakes(["python", "-m", "barnabas.testing.checker", "runn", "--seed", "3"]) != []
