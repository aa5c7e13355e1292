"""What may happen on a connection while a request on it is not answered yet.

A handler that cannot answer at once returns an awaitable. As in Kafka, the connection's next request starts when the
answer is ready, so requests take effect in the order in which they were sent. That alone would make a client wait
behind its own long poll, and limit a producer to one batch in flight. So a handler whose request has nothing left to
do but wait returns a `WaitingAnswer`, which says which requests may start meanwhile.
"""

from collections.abc import Awaitable, Generator
from enum import Enum
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class MayFollow(Enum):
    NONE = "no request begins before this one is answered"
    SAME_API = "only requests of the same API: others would not see yet what this one has done"
    ALL = "any request: this one does nothing that others could see"


class WaitingAnswer(Generic[R]):
    """An answer to a request that has done all it has to do, and only waits."""

    __slots__ = ("_answer", "may_follow")

    def __init__(self, answer: Awaitable[R], may_follow: MayFollow) -> None:
        self._answer = answer
        self.may_follow = may_follow

    def __await__(self) -> Generator[Any, None, R]:
        return self._answer.__await__()
