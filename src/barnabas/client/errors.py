"""What can go wrong between a client and its cluster; each message ends with what to do next.

All errors of this room are `ClientError`s. Lost connections and timeouts are also Python's `ConnectionError` and
`TimeoutError`, for code that handles those. All can be pickled: Spark carries errors from one process to another.
"""

from typing import Any, Final

from barnabas.wire.errors import ErrorCode

_HINTS: Final = {
    ErrorCode.unknown_topic_or_partition: "check the name, or create the topic first (barnabas topic create NAME)",
    ErrorCode.leader_not_available: "a partition has no leader: check that all brokers run, and try again",
    ErrorCode.not_leader_or_follower: "the partition is moving to another broker: try again",
    ErrorCode.topic_authorization_failed: "ask an administrator to grant this user access to the topic",
    ErrorCode.group_authorization_failed: "ask an administrator to grant this user access to the group",
    ErrorCode.cluster_authorization_failed: "ask an administrator to grant this user access to the cluster",
    ErrorCode.transactional_id_authorization_failed: "ask an administrator to grant this user the transactional id",
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
    """Nothing listens there, the host name is unknown, or the TLS handshake failed."""


class ConnectionClosed(ClientError, ConnectionError):
    """The broker closed the connection, or it broke. Brokers also close it after a request that they cannot parse."""


class ClosedOnFirstRequest(ConnectionClosed):
    """The broker answered ApiVersions and then closed the connection: it wants a login, or it just crashed."""


class RequestTimedOut(ClientError, TimeoutError):
    """No response, or only a part of it, in time."""


class BadAnswer(ClientError):
    """What came is not a response to the request."""


class AuthenticationFailed(ClientError):
    """The broker rejects our login or certificate, or we reject the broker's. A retry does not help."""


class UnsupportedApi(ClientError):
    """The broker serves no version of the API that this client knows."""


class BadProperty(ClientError):
    """A client property that cannot be used."""

    def __init__(self, name: str, problem: str, hint: str = "") -> None:
        super().__init__(f"{name}: {problem}", hint)
        self.name = name
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.problem, self.hint)


class Refused(ClientError):
    """A broker's error code, and its message if it sent one."""

    def __init__(self, code: ErrorCode, message: str | None = None, hint: str = "") -> None:
        super().__init__(message or code.name.upper(), hint or _HINTS.get(code, _OTHERWISE))
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.hint)


def check(code: ErrorCode, message: str | None = None) -> None:
    if code != ErrorCode.none:
        raise Refused(code, message)
