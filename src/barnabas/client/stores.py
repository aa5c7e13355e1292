"""Certificates and keys: PEM in any layout. For a Java key store, the error says how to convert it to PEM."""

import re
import textwrap
from typing import Final

from barnabas.client.errors import BadProperty

JAVA_STORES: Final = ("JKS", "PKCS12")

_JKS_START: Final = b"\xfe\xed\xfe\xed"
_DER_SEQUENCE: Final = b"\x30"
_PEM_START: Final = b"-----BEGIN "
_PEM_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]+)-----END \1-----")
_PEM_WIDTH: Final = 64


def kind_of(start: bytes) -> str:
    """The kind of a file, by its first bytes; otherwise PEM, which may begin with any text."""
    if start.startswith(_JKS_START):
        return "JKS"
    if start.startswith(_DER_SEQUENCE) and _PEM_START not in start:
        return "PKCS12"
    return "PEM"


def in_lines(pem: str) -> str:
    """PEM with line breaks: properties files often lose them, and OpenSSL needs them."""

    def with_breaks(block: re.Match[str]) -> str:
        body = "\n".join(textwrap.wrap("".join(block[2].split()), _PEM_WIDTH))
        return f"-----BEGIN {block[1]}-----\n{body}\n-----END {block[1]}-----\n"

    return _PEM_BLOCK.sub(with_breaks, pem)


def refuse_java_store(store: str, kind: str, location: str) -> BadProperty:
    """`store` is ssl.truststore or ssl.keystore."""
    source = location or f"your-store.{'jks' if kind == 'JKS' else 'p12'}"
    stem = source.rpartition(".")[0] or source
    command = _trust_command(kind, source, stem) if store == "ssl.truststore" else _key_command(kind, source, stem)
    then = f"{store}.type=PEM and {store}.location={stem}.pem"
    if store == "ssl.keystore":
        then += " and ssl.key.password to the pass phrase that you chose"
    return BadProperty(f"{store}.type", f"{kind} stores are not read, only PEM", f"run: {command} - then set {then}")


def _trust_command(kind: str, source: str, stem: str) -> str:
    return f"keytool -list -rfc -storetype {kind} -keystore {source} > {stem}.pem"


def _key_command(kind: str, source: str, stem: str) -> str:
    if kind == "PKCS12":
        return f"openssl pkcs12 -in {source} -out {stem}.pem"
    between = f"{stem}.p12"
    export = f"keytool -importkeystore -srckeystore {source} -destkeystore {between} -deststoretype PKCS12"
    return f"{export} && openssl pkcs12 -in {between} -out {stem}.pem"
