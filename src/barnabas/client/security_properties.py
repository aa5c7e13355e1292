"""The security part of Kafka's client properties: TLS stores in PEM, and logins."""

import re
from collections.abc import Mapping
from typing import Final

from barnabas.client import jaas
from barnabas.client.errors import BadProperty
from barnabas.client.settings import (
    OAUTHBEARER,
    PLAIN,
    PLAINTEXT,
    SASL_PLAINTEXT,
    SASL_SSL,
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    SSL,
    Login,
    Security,
    Tls,
)
from barnabas.client.stores import JAVA_STORES, in_lines, refuse_java_store

_PROTOCOLS: Final = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)
_MECHANISMS: Final = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER)
_TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_HOST_NAME_IS_CHECKED: Final = {"https": True, "": False, "none": False}

# They change who is trusted, so they must not be ignored.
_CANNOT_BE_USED: Final = {
    "ssl.engine.factory.class": "give certificates and keys as PEM, with ssl.truststore.* and ssl.keystore.*",
    "ssl.cipher.suites": "choose versions with ssl.enabled.protocols; suites are chosen by OpenSSL's configuration",
}
_JAVA_LOGINS: Final = (
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.oauthbearer.token.endpoint.url",
)
_CLAIM: Final = re.compile(r"unsecuredLogin(String|Number|List)Claim_(.+)")
_EXTENSION: Final = re.compile(r"unsecuredLoginExtension_(.+)")


def security(properties: Mapping[str, str]) -> Security:
    protocol = properties.get("security.protocol", PLAINTEXT).strip().upper()
    if protocol not in _PROTOCOLS:
        raise BadProperty("security.protocol", f"{protocol} is not one of its values", f"use {', '.join(_PROTOCOLS)}")
    return Security(
        protocol,
        tls(properties) if protocol in (SSL, SASL_SSL) else None,
        login(properties) if protocol in (SASL_PLAINTEXT, SASL_SSL) else None,
    )


def tls(properties: Mapping[str, str]) -> Tls:
    for name, hint in _CANNOT_BE_USED.items():
        if properties.get(name):
            raise BadProperty(name, "it works only in Java", f"{hint}, and leave this out")
    for store in ("ssl.truststore", "ssl.keystore"):
        kind = properties.get(f"{store}.type", "").strip().upper()
        if kind in JAVA_STORES:
            raise refuse_java_store(store, kind, properties.get(f"{store}.location", ""))
        if kind not in ("", "PEM"):
            raise BadProperty(f"{store}.type", f"{kind} is not known", "use PEM")
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in _HOST_NAME_IS_CHECKED:
        name = "ssl.endpoint.identification.algorithm"
        raise BadProperty(name, f"{algorithm} is not known", "use https, or nothing to leave host names unchecked")
    return Tls(
        trusted_file=_file(properties, "ssl.truststore.location"),
        trusted_pem=in_lines(properties.get("ssl.truststore.certificates", "")) or None,
        own_file=_file(properties, "ssl.keystore.location") or _file(properties, "ssl.certificate.location"),
        key_file=_file(properties, "ssl.key.location"),
        own_pem=_own_pem(properties),
        key_password=properties.get("ssl.key.password") or None,
        check_host_name=_HOST_NAME_IS_CHECKED[algorithm],
        versions=_versions(properties),
    )


def login(properties: Mapping[str, str]) -> Login:
    mechanism = properties.get("sasl.mechanism", "").strip().upper()
    if mechanism not in _MECHANISMS:
        known = ", ".join(_MECHANISMS)
        asked = mechanism or "it is not set, and its default, GSSAPI,"
        raise BadProperty("sasl.mechanism", f"{asked} is not supported by this client", f"use one of {known}")
    configured = jaas.parse(properties[jaas.NAME]).options if properties.get(jaas.NAME, "").strip() else {}
    if mechanism == OAUTHBEARER:
        return _bearer(properties, configured)
    username = properties.get("sasl.username", configured.get("username"))
    password = properties.get("sasl.password", configured.get("password"))
    _refuse_java_logins(properties)
    if username is None or password is None:
        missing = "username" if username is None else "password"
        raise BadProperty(
            jaas.NAME,
            f"{mechanism} needs a {missing}, and none is given",
            f'write: {jaas.module_for(mechanism)} required username="..." password="..."; '
            "(or set sasl.username and sasl.password)",
        )
    return Login(mechanism, username, password)


def _bearer(properties: Mapping[str, str], configured: Mapping[str, str]) -> Login:
    token = properties.get("sasl.oauthbearer.token", configured.get("token"))
    extensions = tuple(
        (found[1], value) for name, value in configured.items() if (found := _EXTENSION.fullmatch(name)) is not None
    )
    if token:
        return Login(OAUTHBEARER, token=token, extensions=extensions)
    _refuse_java_logins(properties)
    claims = tuple(
        (found[2], _claim(found[1], name, value))
        for name, value in configured.items()
        if (found := _CLAIM.fullmatch(name)) is not None
    )
    if not any(name == "sub" for name, _ in claims):
        raise BadProperty(
            "sasl.oauthbearer.token",
            "OAUTHBEARER needs a token, and none is given",
            "set it to a token of your provider; this client fetches none by itself",
        )
    lifetime = configured.get("unsecuredLoginLifetimeSeconds", "3600")
    if not lifetime.isdecimal():
        raise BadProperty(jaas.NAME, "unsecuredLoginLifetimeSeconds is not a number", "write a whole number of seconds")
    return Login(OAUTHBEARER, unsecured_claims=claims, unsecured_lifetime_s=int(lifetime), extensions=extensions)


def _claim(kind: str, name: str, value: str) -> object:
    if kind == "Number":
        try:
            return float(value)
        except ValueError:
            raise BadProperty(jaas.NAME, f"{name} is not a number", "write a number") from None
    if kind == "List" and value:
        # The first character is the separator, unless it is a letter or a digit.
        return value[1:].split(value[0]) if not value[0].isalnum() else [value]
    return value


def _refuse_java_logins(properties: Mapping[str, str]) -> None:
    for name in _JAVA_LOGINS:
        if properties.get(name):
            raise BadProperty(
                name,
                "this client runs no Java classes and fetches no tokens",
                "leave it out and give a username and password, or a token with sasl.oauthbearer.token",
            )


def _file(properties: Mapping[str, str], name: str) -> str | None:
    return properties.get(name, "").strip() or None


def _own_pem(properties: Mapping[str, str]) -> str | None:
    key, chain = properties.get("ssl.keystore.key"), properties.get("ssl.keystore.certificate.chain")
    if not key and not chain:
        return None
    if not key or not chain:
        missing = "ssl.keystore.certificate.chain" if key else "ssl.keystore.key"
        raise BadProperty(missing, "it is missing", "give both the key and the certificate chain, or neither")
    return in_lines(f"{key.strip()}\n{chain.strip()}\n")


def _versions(properties: Mapping[str, str]) -> tuple[str, ...]:
    asked = properties.get("ssl.enabled.protocols", "")
    versions = tuple(version.strip() for version in asked.split(",") if version.strip()) or _TLS_VERSIONS
    usable = tuple(version for version in _TLS_VERSIONS if version in versions)
    if not usable:
        raise BadProperty("ssl.enabled.protocols", f"{asked} is too old to be safe", f"use {','.join(_TLS_VERSIONS)}")
    return usable
