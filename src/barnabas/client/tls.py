"""The TLS handshake; its errors say which key store or certificate is wrong."""

import socket
import ssl
from typing import Final

from barnabas.client.errors import AuthenticationFailed, BadProperty, CannotConnect, ClientError
from barnabas.client.settings import Tls
from barnabas.client.stores import kind_of, refuse_java_store
from barnabas.portable.secret_files import secret_file

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_START_BYTES: Final = 1024


def wrap(connected: socket.socket, host: str, address: str, tls: Tls) -> ssl.SSLSocket:
    """The socket given is closed if this fails."""
    try:
        return make_context(tls).wrap_socket(connected, server_hostname=host)
    except BadProperty:
        connected.close()
        raise
    except OSError as error:
        connected.close()
        raise _to_client_error(error, address) from error


def make_context(tls: Tls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.check_host_name
    context.minimum_version = _VERSIONS[tls.versions[0]]
    context.maximum_version = _VERSIONS[tls.versions[-1]]
    _load_trusted(context, tls)
    _load_own(context, tls)
    return context


def _load_trusted(context: ssl.SSLContext, tls: Tls) -> None:
    name = "ssl.truststore.certificates" if tls.trusted_pem else "ssl.truststore.location"
    try:
        if tls.trusted_pem:
            context.load_verify_locations(cadata=tls.trusted_pem)
        elif tls.trusted_file:
            _check_readable("ssl.truststore", tls.trusted_file)
            context.load_verify_locations(cafile=tls.trusted_file)
        else:
            context.load_default_certs()
    except ssl.SSLError as error:
        raise BadProperty(
            name, f"there is no PEM certificate in it ({error.reason or error})", "give certificates as PEM"
        ) from error


def _load_own(context: ssl.SSLContext, tls: Tls) -> None:
    if tls.own_pem:
        with secret_file(tls.own_pem.encode()) as path:  # OpenSSL wants a file
            _load_chain(context, tls, "ssl.keystore.key", path, None)
    elif tls.own_file:
        for file in (tls.own_file, tls.key_file):
            if file:
                _check_readable("ssl.keystore", file)
        _load_chain(context, tls, "ssl.keystore.location", tls.own_file, tls.key_file)


def _load_chain(context: ssl.SSLContext, tls: Tls, name: str, file: str, key_file: str | None) -> None:
    asked = False

    def password() -> str:
        # Without this function OpenSSL would ask at the terminal.
        nonlocal asked
        asked = True
        return tls.key_password or ""

    try:
        context.load_cert_chain(file, key_file, password=password)
    except (ssl.SSLError, ValueError) as error:
        if asked:
            problem = (
                "it is not the pass phrase of the key"
                if tls.key_password
                else "the key is encrypted, and this is not set"
            )
            raise BadProperty("ssl.key.password", problem, "set it to the right pass phrase") from error
        reason = getattr(error, "reason", None) or error
        raise BadProperty(
            name,
            f"key and certificate cannot be read ({reason})",
            "give a private key and the certificates that belong to it, as PEM",
        ) from error


def _check_readable(store: str, file: str) -> None:
    try:
        with open(file, "rb") as opened:
            kind = kind_of(opened.read(_START_BYTES))
    except OSError as error:
        raise BadProperty(
            f"{store}.location",
            f"{file} cannot be read: {error.strerror}",
            "the file must be there on every machine that connects",
        ) from error
    if kind != "PEM":
        raise refuse_java_store(store, kind, file)


def _to_client_error(error: OSError, address: str) -> ClientError:
    if isinstance(error, ssl.SSLCertVerificationError):
        if "mismatch" in error.verify_message or "doesn't match" in error.verify_message:
            return AuthenticationFailed(
                f"{address} has a certificate for another name: {error.verify_message}",
                "use a name that the certificate has, or set ssl.endpoint.identification.algorithm to nothing",
            )
        return AuthenticationFailed(
            f"the certificate of {address} is not trusted: {error.verify_message}",
            "set ssl.truststore.location to a PEM file with the certificate of the authority that signed it",
        )
    if isinstance(error, ssl.SSLError) and error.reason is not None:
        if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"):
            return AuthenticationFailed(
                f"{address} does not speak TLS", "set security.protocol to PLAINTEXT or SASL_PLAINTEXT"
            )
        if "ALERT" in error.reason or "PROTOCOL" in error.reason:
            return AuthenticationFailed(
                f"{address} broke off the TLS handshake: {error.reason}",
                "it may want a client certificate (ssl.keystore.*) or another version of TLS (ssl.enabled.protocols)",
            )
    return CannotConnect(
        f"the TLS handshake with {address} failed: {error}",
        "if it is not a TLS listener, set security.protocol to PLAINTEXT or SASL_PLAINTEXT",
    )
