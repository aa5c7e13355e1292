"""What can go wrong between a client and its cluster, each told in one sentence that ends with what to do next.

Everything this room raises on its own account is a `ClientError`. Those that say that the way to a broker is gone are
also Python's `ConnectionError` or `TimeoutError`, so that code that knows sockets needs no second vocabulary. All can
be pickled: Spark carries errors from one process to another.
"""

from typing import Any, Final

from barnabas.wire.errors import ErrorCode

_HINTS: Final = {
    ErrorCode.unknown_topic_or_partition: "check the name, or create the topic first (barnabas topic create NAME)",
    ErrorCode.leader_not_available: "a partition has no leader: check that all brokers run, and try again",
    ErrorCode.not_leader_or_follower: "the partition is moving to another broker: try again",
    ErrorCode.topic_authorization_failed: "let an administrator grant this user access to the topic",
    ErrorCode.group_authorization_failed: "let an administrator grant this user access to the group",
    ErrorCode.cluster_authorization_failed: "let an administrator grant this user access to the cluster",
    ErrorCode.transactional_id_authorization_failed: "let an administrator grant this user the transactional id",
    ErrorCode.coordinator_not_available: "the coordinator is starting: try again, and look at the broker's log",
    ErrorCode.coordinator_load_in_progress: "the coordinator is still reading its log: try again",
    ErrorCode.not_coordinator: "the coordinator is moving to another broker: try again",
    ErrorCode.unknown_member_id: "the group has members: stop its consumers, or use another group",
    ErrorCode.group_id_not_found: "check the group's name (barnabas group list)",
    ErrorCode.offset_out_of_range: "choose an offset that the partition has (barnabas topic describe NAME)",
    ErrorCode.unsupported_version: "upgrade the broker, or do without this feature",
    ErrorCode.invalid_topic_exception: "topic names have up to 249 letters, digits, dots, underscores and hyphens",
}
_OTHERWISE: Final = "look at the broker's log for the reason"


class ClientError(Exception):
    """`message` says what happened, `hint` what to do next; the text of the error is both."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.hint)

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class CannotConnect(ClientError, ConnectionError):
    """Nobody listens there, the name is unknown, or the greeting failed."""


class ConnectionClosed(ClientError, ConnectionError):
    """The broker hung up, or the way to it broke. For a frame it cannot make sense of, that is its answer."""


class HungUp(ConnectionClosed):
    """The broker greeted us, and hung up on the first thing that it was asked: it wants a login, or just died."""


class RequestTimedOut(ClientError, TimeoutError):
    """No answer, or not the whole of it, in time."""


class BadAnswer(ClientError):
    """Bytes came that are no answer to what was asked."""


class AuthenticationFailed(ClientError):
    """The broker does not accept who we say we are, or we do not accept the broker. Trying again does not help."""


class UnsupportedApi(ClientError):
    """The broker does not serve the API in a version that we speak."""


class BadProperty(ClientError):
    """A client property that cannot be used."""

    def __init__(self, name: str, problem: str, hint: str = "") -> None:
        super().__init__(f"{name}: {problem}", hint)
        self.name = name
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.problem, self.hint)


class Refused(ClientError):
    """A broker's error code, and its words if it had any."""

    def __init__(self, code: ErrorCode, message: str | None = None, hint: str = "") -> None:
        super().__init__(message or code.name.upper(), hint or _HINTS.get(code, _OTHERWISE))
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.hint)


def check(code: ErrorCode, message: str | None = None) -> None:
    if code != ErrorCode.none:
        raise Refused(code, message)
