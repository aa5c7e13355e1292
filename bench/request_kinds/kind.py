"""What one kind of request is: its title, its target, and what each connection sends."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from bench.frames import CLIENT_ID, framed
from bench.load.exchanges import Exchange, Repeated

CONNECTIONS: Final = (8, 64)


class Target(NamedTuple):
    """The least ratio of rates to Apache Kafka, by the number of connections, and the most of CPU at the first."""

    rates: dict[int, float]
    cpu: float | None = None


EQUAL: Final = Target({8: 1.0, 64: 0.8}, cpu=1.0)
HALF: Final = Target({8: 0.5, 64: 0.4})
NONE: Final = Target({})


class RequestKind(NamedTuple):
    title: str
    exchanges: Callable[[int, int], Sequence[Exchange]]
    """Gets a port, where it may make what its requests need, and the number of connections."""
    target: Target = NONE


def repeated(
    api: str, version: int, make: Callable[[int], Sequence[object]], client_id: str = CLIENT_ID
) -> Callable[[int, int], list[Exchange]]:
    """Each connection repeats one of the requests, which are encoded once."""

    def exchanges(port: int, connections: int) -> list[Exchange]:
        frames = [framed(api, version, request, client_id) for request in make(port)]
        return [Repeated(frames[index % len(frames)]) for index in range(connections)]

    return exchanges
