"""Several versions of a pipeline at once: replay, compare, switch (Kappa). Functions are imported on first use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.pipeline.replay.comparing import compare as compare
    from barnabas.pipeline.replay.listing import versions as versions
    from barnabas.pipeline.replay.running import replay as replay
    from barnabas.pipeline.replay.switching import switch as switch

_PLACES = {"compare": "comparing", "replay": "running", "switch": "switching", "versions": "listing"}

__all__ = ["compare", "replay", "switch", "versions"]


def __getattr__(name: str) -> Callable[..., Any]:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: Callable[..., Any] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    return found
