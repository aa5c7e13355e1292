"""SASL logins.

SaslHandshake names the mechanism, then SaslAuthenticate carries its messages. PLAIN sends the password in the clear and
needs TLS; SCRAM proves on both sides that the password is known, without sending it; OAUTHBEARER sends a token of an
identity provider.
"""

import base64
import json
import time
from typing import Any, Final

from barnabas.client.connection import Connection
from barnabas.client.errors import AuthenticationFailed, ClientError
from barnabas.client.settings import OAUTHBEARER, PLAIN, Login
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest

_HANDSHAKE_VERSION: Final = 1
"""From this version on, messages are sent in SaslAuthenticate; before, they were bare bytes."""
_AUTHENTICATE_VERSION: Final = 1
"""From this version on, the broker says how long the login is valid."""
_USED_OF_LIFETIME: Final = 0.85
"""Kafka's clients also log in again before the end."""
_CREDENTIALS: Final = "check sasl.username and sasl.password (or sasl.jaas.config), and that the broker knows the user"


def authenticate(connection: Connection, login: Login) -> None:
    """Log in, or raise AuthenticationFailed."""
    _handshake(connection, login.mechanism)
    if login.mechanism == PLAIN:
        answer = _exchange(connection, f"\0{login.username}\0{login.password}".encode(), _CREDENTIALS)
    elif login.mechanism == OAUTHBEARER:
        answer = _bearer(connection, login)
    else:
        answer = _scram(connection, login)
    lifetime_s = answer.session_lifetime.total_seconds()
    if lifetime_s > 0:
        connection.expires_at = time.monotonic() + lifetime_s * _USED_OF_LIFETIME


def _handshake(connection: Connection, mechanism: str) -> None:
    answer = connection.call("sasl_handshake", _HANDSHAKE_VERSION, SaslHandshakeRequest(mechanism=mechanism))
    if answer.error_code == ErrorCode.unsupported_sasl_mechanism:
        known = ", ".join(answer.mechanisms) or "none"
        raise AuthenticationFailed(
            f"{connection.address} does not accept logins with {mechanism}, only with: {known}",
            "set sasl.mechanism to one of these",
        )
    if answer.error_code != ErrorCode.none:
        raise AuthenticationFailed(
            f"{connection.address} does not accept logins: {answer.error_code.name.upper()}",
            "set security.protocol to PLAINTEXT or SSL, or give the address of a SASL listener",
        )


def _exchange(connection: Connection, message: bytes, hint: str) -> Any:
    answer = connection.call("sasl_authenticate", _AUTHENTICATE_VERSION, SaslAuthenticateRequest(auth_bytes=message))
    if answer.error_code != ErrorCode.none:
        reason = answer.error_message or answer.error_code.name.upper()
        raise AuthenticationFailed(f"{connection.address} refuses the login: {reason}", hint)
    return answer


def _scram(connection: Connection, login: Login) -> Any:
    try:
        from scramp import ScramClient, ScramException
    except ImportError as error:
        raise ClientError(
            f"a login with {login.mechanism} needs the package scramp", "run pip install scramp"
        ) from error
    try:
        client = ScramClient([login.mechanism], login.username, login.password)
        first = _exchange(connection, client.get_client_first().encode(), _CREDENTIALS)
        client.set_server_first(first.auth_bytes.decode())
        final = _exchange(connection, client.get_client_final().encode(), _CREDENTIALS)
        client.set_server_final(final.auth_bytes.decode())
    except (ScramException, UnicodeDecodeError) as error:
        connection.broken = True
        raise AuthenticationFailed(
            f"{connection.address} did not prove that it knows the password of {login.username}: {error}",
            "check that it is the right broker before you send it the password with another mechanism",
        ) from error
    return final


def _bearer(connection: Connection, login: Login) -> Any:
    token = unsecured_token(login, time.time()) if login.token is None else login.token
    extensions = "".join(f"{name}={value}\x01" for name, value in login.extensions)
    hint = "get a fresh token and set sasl.oauthbearer.token to it"
    answer = _exchange(connection, f"n,,\x01auth=Bearer {token}\x01{extensions}\x01".encode(), hint)
    if answer.auth_bytes:
        # An error message; the broker fails the login only after we have acknowledged it.
        reason = bytes(answer.auth_bytes).decode(errors="replace")
        _exchange(connection, b"\x01", hint)
        raise AuthenticationFailed(f"{connection.address} refuses the token: {reason}", hint)
    return answer


def unsecured_token(login: Login, now_s: float) -> str:
    """A token that nobody has signed, with the claims that were asked for."""
    claims = {"iat": now_s, "exp": now_s + login.unsecured_lifetime_s, **dict(login.unsecured_claims)}
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def _encoded(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).rstrip(b"=").decode()
