"""Every handler can be bound: it names services that exist, with their types, and then the context and its request."""

import importlib
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.handlers.services import Services, bind
from barnabas.wire.api_table import APIS, Api
from barnabas.wire.codec import message_class


def offered() -> dict[str, str]:
    """The type of each service, as `Services` writes it."""
    fields = dict(Services.__annotations__)
    for name, value in vars(Services).items():
        getter = value.fget if isinstance(value, property) else getattr(value, "func", None)
        if getter is not None:
            fields[name] = getter.__annotations__["return"]
    return fields


def written(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else annotation.__name__


def handler_of(api: Api) -> Callable[..., Any]:
    handle: Callable[..., Any] = importlib.import_module(f"barnabas.handlers.{api.name}").handle
    return handle


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_handler_names_services_then_its_context_and_request(api: Api) -> None:
    *services, context, request = inspect.signature(handler_of(api)).parameters.values()
    assert {each.name: written(each.annotation) for each in services}.items() <= offered().items()
    assert (context.name, context.annotation) == ("context", RequestContext)
    assert request.name == "request"
    assert request.annotation is message_class(api.name, "request")


def test_a_service_is_looked_up_once_and_not_before_a_handler_needs_it() -> None:
    created = []

    class Lazy(SimpleNamespace):
        @property
        def groups(self) -> str:
            created.append("groups")
            return "the groups"

    def heartbeat(groups: str, context: RequestContext, request: str) -> tuple[str, str]:
        return groups, request

    def api_versions(context: RequestContext, request: str) -> str:
        return request

    services = cast(Services, Lazy())
    context = RequestContext(ClientConnection("127.0.0.1", 1, "PLAINTEXT", "127.0.0.1"), 1, 1, None)
    assert bind(api_versions, services)(context, "first") == "first"
    assert created == []
    handle = bind(heartbeat, services)
    assert handle(context, "second") == ("the groups", "second")
    assert handle(context, "third") == ("the groups", "third")
    assert created == ["groups"]
