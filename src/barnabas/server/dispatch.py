"""Decodes a request, calls its handler, encodes the response.

A handler answers at once (with the response) or later (with an awaitable). Errors of a whole request become error codes
here. A request that cannot be decoded, or an API or version that is not supported, closes the connection, as in Kafka.
Only ApiVersions of an unknown version gets an answer, because it tells the client which versions to use.

Clients choose how long a request or its answer is. A long list is handled in pieces (`handlers.pieces`), and a long
answer is encoded in slices (`wire.writer`), within time slices of a few milliseconds. Until a request is
answered, the next ones of its connection wait, unless its handler says that it is only waiting (`handlers.pending`): so
requests take effect in the order in which they were sent.
"""

import importlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

from barnabas.env.time_slices import TimeSlice
from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.handlers.pending import WaitingAnswer
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.produce_fast_path import ProduceFastPath
from barnabas.handlers.services import Services, bind
from barnabas.server.kept_answers import REQUEST_BYTES_MAX, Asked, KeptAnswers
from barnabas.server.sending import Buffers
from barnabas.server.throttling import RequestMeter, ThrottledBuffers, throttled_later
from barnabas.wire.api_table import API_VERSIONS, BY_KEY, FETCH, PRODUCE, Api
from barnabas.wire.codec import (
    encode_response,
    is_flexible,
    message_class,
    request_reader,
    request_reader_in_place,
    response_writer,
)
from barnabas.wire.errors import ErrorCode, KafkaError, UnsupportedVersion
from barnabas.wire.fetch_response import encode_fetch_response
from barnabas.wire.frame import read_request_header, response_prefix, skip_tagged_fields
from barnabas.wire.writer import WriteInSlices

logger = logging.getLogger(__name__)

_ENCODERS: Final[dict[Api, Callable[[Any, int], Buffers]]] = {
    PRODUCE: lambda response, version: [encode_response(PRODUCE.name, version, response)],
    FETCH: encode_fetch_response,
}


class Route(NamedTuple):
    """One version of an API: how to decode, handle and encode it."""

    api: Api
    version: int
    decode: Callable[[memoryview, int], Any]
    handle: Callable[[RequestContext, Any], Any]
    encode: Callable[[Any, int], Buffers] | None
    """In one go: for the most frequent APIs, whose responses are short or made of large buffers."""
    write: WriteInSlices | None
    """For all others."""
    pieces: Sequence[Pieces]
    tagged_request: bool
    tagged_response: bool
    from_image: bool
    """Its answers may be kept until the image changes."""


class Refused(Exception):
    """The request cannot be answered: the connection is closed."""


class Dispatcher:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._cluster = services.cluster
        self._quotas = services.quotas
        self._time_slices = services.runtime.time_slices
        self._work_s = services.runtime.clock.work_s
        self.client_warnings = services.runtime.client_warnings
        self.fast_path = ProduceFastPath(services.cluster, services.runtime.clock, services.quotas, services.replicas)
        self._routes: dict[tuple[int, int], Route] = {}
        self._kept_answers = KeptAnswers()

    def dispatch(self, client: ClientConnection, payload: memoryview) -> Buffers | Awaitable[Buffers]:
        """Run the request's handler up to its first await. `payload` is not used after this returns."""
        try:
            api_key, api_version, correlation_id, client_id, body_start = read_request_header(payload)
            route = self._routes.get((api_key, api_version)) or self._route(api_key, api_version)
            if route.tagged_request:
                body_start = skip_tagged_fields(payload, body_start)
            if route.from_image and len(payload) <= REQUEST_BYTES_MAX and self._quotas.clients is None:
                return self._answer_from_image(route, correlation_id, client, client_id, payload[body_start:])
            request = route.decode(payload, body_start)
        except UnsupportedVersion as error:
            if api_key != API_VERSIONS.key:
                raise Refused(str(error)) from error
            route, request = self._api_versions_of_unknown_version()
        except KafkaError as error:
            raise Refused(str(error)) from error
        context = RequestContext(client, route.version, api_version, client_id)
        return self._handle(route, correlation_id, context, request, len(payload))

    def _answer_from_image(
        self, route: Route, correlation_id: int, client: ClientConnection, client_id: str | None, body: memoryview
    ) -> Buffers | Awaitable[Buffers]:
        image = self._cluster.image
        asked = Asked(route.api.key, route.version, client.listener_name, client.local_host, bytes(body))
        kept = self._kept_answers.get(asked, image)
        if kept is not None:
            return [response_prefix(correlation_id, len(kept), tagged=route.tagged_response) + kept]
        context = RequestContext(client, route.version, route.version, client_id)
        answer = self._handle(route, correlation_id, context, route.decode(body, 0), len(body))
        if isinstance(answer, list):
            prefix_size = len(response_prefix(0, 0, tagged=route.tagged_response))
            self._kept_answers.keep(asked, image, b"".join(cast(list[bytes], answer))[prefix_size:])
        return answer

    def _handle(
        self, route: Route, correlation_id: int, context: RequestContext, request: Any, size: int
    ) -> Buffers | Awaitable[Buffers]:
        quotas = self._quotas.clients
        meter = None if quotas is None else RequestMeter(quotas, context, route.api, size, self._work_s)
        try:
            for pieces in route.pieces:
                if cut := pieces.cut(request):
                    handled = self._handle_pieces(route, context, pieces, cut)
                    return self._answer_later(route, correlation_id, handled, meter)
            response = route.handle(context, request)
            if hasattr(response, "__await__"):
                if meter is not None:
                    meter.pause()
                answer = self._answer_later(route, correlation_id, response, meter)
                return WaitingAnswer(answer, response.may_follow) if isinstance(response, WaitingAnswer) else answer
            return self._frame(route, correlation_id, response, meter)
        except KafkaError as error:
            return self._frame(route, correlation_id, error_response(route, error), meter)
        except Exception:
            logger.exception("a %s request failed: this is a defect of Barnabas", route.api.name)
            raise Refused("internal error") from None

    async def _handle_pieces(self, route: Route, context: RequestContext, pieces: Pieces, cut: Sequence[Any]) -> Any:
        responses = []
        for piece in cut:
            await self._time_slices.wait()  # a piece may take milliseconds
            response = route.handle(context, piece)
            responses.append(await response if hasattr(response, "__await__") else response)
        return pieces.join(responses)

    async def _answer_later(
        self, route: Route, correlation_id: int, response: Awaitable[object], meter: RequestMeter | None
    ) -> Buffers:
        try:
            framed = self._frame(route, correlation_id, await response, meter)
        except KafkaError as error:
            framed = self._frame(route, correlation_id, error_response(route, error), meter)
        return framed if isinstance(framed, list) else await framed

    def _frame(
        self, route: Route, correlation_id: int, response: object, meter: RequestMeter | None = None
    ) -> Buffers | Awaitable[Buffers]:
        if meter is not None:
            response, throttle_ms = meter.settle(response)
            if throttle_ms:
                framed = self._frame(route, correlation_id, response)
                if isinstance(framed, list):
                    return ThrottledBuffers(framed, throttle_ms)
                return throttled_later(framed, throttle_ms)
        if response is None:
            return []
        if route.encode is not None:
            return _with_prefix(route, correlation_id, route.encode(response, route.version))
        assert route.write is not None
        out = bytearray()
        writing = route.write(out, response)
        time_slice: TimeSlice | None = None  # most answers are too short to be interrupted
        for _ in writing:
            if time_slice is None:
                time_slice = self._time_slices.begin()
            elif time_slice.is_over():
                return self._finish(route, correlation_id, writing, out)
        return _with_prefix(route, correlation_id, [bytes(out)])

    async def _finish(self, route: Route, correlation_id: int, writing: Iterator[None], out: bytearray) -> Buffers:
        time_slices = self._time_slices
        time_slice = await time_slices.wait()
        for _ in writing:
            if time_slice.is_over():
                await time_slices.next(time_slice)
        return _with_prefix(route, correlation_id, [bytes(out)])

    def _route(self, api_key: int, api_version: int) -> Route:
        api = BY_KEY.get(api_key)
        if api is None:
            raise Refused(f"unknown API key {api_key}")
        if not api.serves(api_version):
            raise UnsupportedVersion(f"{api.name} version {api_version} is not supported")
        route = self._routes[api_key, api_version] = _make_route(api, api_version, self._services)
        return route

    def _api_versions_of_unknown_version(self) -> tuple[Route, object]:
        messages = importlib.import_module("barnabas.wire.messages.api_versions")
        return _make_route(API_VERSIONS, 0, self._services), messages.ApiVersionsRequest()


def _with_prefix(route: Route, correlation_id: int, body: Buffers) -> Buffers:
    size = len(body[0]) if len(body) == 1 else sum(map(len, body))
    body[0] = response_prefix(correlation_id, size, tagged=route.tagged_response) + cast(bytes, body[0])
    return body


def _make_route(api: Api, version: int, services: Services) -> Route:
    handler = importlib.import_module(f"barnabas.handlers.{api.name}")
    handle = bind(handler.handle, services)
    flexible = is_flexible(api.name, version)
    encode = _ENCODERS.get(api)
    decode = (request_reader_in_place if api is PRODUCE else request_reader)(api.name, version)
    pieces = getattr(handler, "PIECES", ())
    write = response_writer(api.name, version) if encode is None else None
    tagged_response = flexible and api is not API_VERSIONS
    from_image = getattr(handler, "ANSWERS_FROM_IMAGE", False)
    return Route(api, version, decode, handle, encode, write, pieces, flexible, tagged_response, from_image)


def error_response(route: Route, error: KafkaError) -> object:
    """An empty response with the error code, for APIs whose response has such a field."""
    shape = message_class(route.api.name, "response")
    if "error_code" not in shape.layout.fields:
        raise Refused(f"{route.api.name}: {error}") from error
    values: dict[str, object] = {"error_code": ErrorCode(error.code)}
    if "error_message" in shape.layout.fields:
        values["error_message"] = str(error)
    return shape(**values)
