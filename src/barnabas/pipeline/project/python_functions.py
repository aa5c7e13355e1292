"""Finds a flow's function in a Python file without running it: `flows/averages.py:averages`."""

import ast
import warnings
from dataclasses import dataclass

from barnabas.pipeline.project.problems import Document


class NotAFunction(ValueError):
    """The mistake; `index` is a position in the Python file, or None if the name itself is wrong."""

    def __init__(self, message: str, hint: str, index: int | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.index = index


@dataclass(frozen=True)
class Parameter:
    name: str
    index: int
    """Its position in the file."""
    optional: bool


def parameters_of(document: Document, name: str) -> tuple[Parameter, ...]:
    tree = _parsed(document)
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    found = functions.get(name)
    if found is None:
        known = f"it has: {', '.join(functions)}" if functions else f"write `def {name}(...)` in it"
        raise NotAFunction(f"{document.name} has no function `{name}`", known)
    arguments = found.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        raise NotAFunction(
            f"the parameters of `{name}` cannot be passed by name",
            "use plain parameters, each named like an input",
            _index(document, found),
        )
    plain = len(arguments.args) - len(arguments.defaults)
    optional = [index >= plain for index in range(len(arguments.args))]
    optional += [default is not None for default in arguments.kw_defaults]
    every = [*arguments.args, *arguments.kwonlyargs]
    return tuple(
        Parameter(each.arg, _index(document, each), default) for each, default in zip(every, optional, strict=True)
    )


def _parsed(document: Document) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the user's code are shown when it runs
            return ast.parse(document.text, filename=document.name)
    except SyntaxError as error:
        line = max(1, error.lineno or 1)
        start = sum(len(each) + 1 for each in document.text.split("\n")[: line - 1])
        raise NotAFunction(
            f"not Python: {error.msg}", "correct the file", start + max(0, (error.offset or 1) - 1)
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotAFunction(f"not Python: {error}", "correct the file", 0) from None


def _index(document: Document, node: ast.FunctionDef | ast.arg) -> int:
    lines = document.text.split("\n")
    column = len(lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace"))
    return sum(len(each) + 1 for each in lines[: node.lineno - 1]) + column
