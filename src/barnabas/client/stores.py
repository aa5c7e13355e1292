"""Key and trust stores of Java: not read, but whoever has one is told how to get PEM out of it."""

from typing import Final

from barnabas.client.errors import BadProperty

JAVA_STORES: Final = ("JKS", "PKCS12")

_JKS_START: Final = b"\xfe\xed\xfe\xed"
_DER_SEQUENCE: Final = b"\x30"
_PEM_START: Final = b"-----BEGIN "


def kind_of(start: bytes) -> str:
    """What a file is, by how it begins; PEM if it says neither, as PEM may begin with anything."""
    if start.startswith(_JKS_START):
        return "JKS"
    if start.startswith(_DER_SEQUENCE) and _PEM_START not in start:
        return "PKCS12"
    return "PEM"


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
