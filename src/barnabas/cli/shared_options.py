"""Lets commands share options: one of a command's parameters is replaced by the options from which it is made."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def replace_parameter(
    command: Callable[..., None], name: str, options: Mapping[str, tuple[Any, object]], run: Callable[..., None]
) -> Callable[..., None]:
    """`run` with the signature of `command`, in which `options` take the place of the parameter `name`.

    An option is its annotation and its default. All parameters are passed to `run` by name.
    """
    own = [each for each in inspect.signature(command).parameters.values() if each.name != name]
    added = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for option, (annotation, default) in options.items()
    ]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each.name not in options] + added
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
