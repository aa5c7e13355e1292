"""The quotas and SCRAM credentials of users, client ids and addresses, for kafka-configs."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from barnabas.cli.kafka.options import UsageError
from barnabas.cli.wire_client import Cluster, RequestRefused, check
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import alter_client_quotas, alter_user_scram_credentials, describe_client_quotas
from barnabas.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

Entity = Mapping[str, str | None]
"""Names by type (users, clients, ips); None is the default of the type."""

TYPES: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
_SHOWN: Final = {"users": "user-principal", "clients": "client-id", "ips": "ip"}
_CLIENT_QUOTAS: Final = (
    "consumer_byte_rate",
    "controller_mutation_rate",
    "producer_byte_rate",
    "request_percentage",
)
MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_ITERATIONS_DEFAULT: Final = 4096
_EXACT, _DEFAULT, _ANY = range(3)


def alter(cluster: Cluster, entity: Entity, additions: Mapping[str, str], deletions: Sequence[str]) -> None:
    is_user_alone = set(entity) == {"users"}
    known = ("connection_creation_rate",) if "ips" in entity else _CLIENT_QUOTAS
    allowed = {*known, *(MECHANISMS if is_user_alone else ())}
    for name in (*additions, *deletions):
        if name not in allowed:
            kinds = " and ".join(f"'{kind}'" for kind in entity)
            raise UsageError(f"{name} is not a setting of {kinds}", hint=f"there are: {', '.join(sorted(allowed))}")
    credentials = {name: value for name, value in additions.items() if name in MECHANISMS}
    quotas = {name: value for name, value in additions.items() if name not in MECHANISMS}
    dropped = [name for name in deletions if name in MECHANISMS]
    if credentials or dropped:
        if entity["users"] is None:
            raise UsageError(
                "SCRAM credentials cannot be combined with --entity-default and --user-defaults: name a user"
            )
        _alter_credentials(cluster, entity["users"], credentials, dropped)
    if quotas or len(dropped) < len(deletions):
        _alter_quotas(cluster, entity, quotas, [name for name in deletions if name not in MECHANISMS])


def _alter_quotas(cluster: Cluster, entity: Entity, quotas: Mapping[str, str], deletions: Sequence[str]) -> None:
    try:
        limits = {name: float(text) for name, text in quotas.items()}
    except ValueError as error:
        raise UsageError(f"Cannot parse quota configuration value: {error}") from error
    operations = [alter_client_quotas.OpData(key=name, value=limit) for name, limit in limits.items()]
    operations += [alter_client_quotas.OpData(key=name, remove=True) for name in deletions]
    entry = alter_client_quotas.EntryData(
        entity=tuple(
            alter_client_quotas.EntityData(entity_type=TYPES[kind], entity_name=name) for kind, name in entity.items()
        ),
        ops=tuple(operations),
    )
    answer = cluster.call("alter_client_quotas", alter_client_quotas.AlterClientQuotasRequest(entries=(entry,)))
    for result in answer.entries:
        check(result.error_code, result.error_message)


def _alter_credentials(cluster: Cluster, user: str, additions: Mapping[str, str], deletions: Sequence[str]) -> None:
    request = alter_user_scram_credentials.AlterUserScramCredentialsRequest(
        upsertions=tuple(_upsertion(user, mechanism, text) for mechanism, text in additions.items()),
        deletions=tuple(
            alter_user_scram_credentials.ScramCredentialDeletion(name=user, mechanism=MECHANISMS[mechanism])
            for mechanism in deletions
        ),
    )
    for result in cluster.call("alter_user_scram_credentials", request).results:
        check(result.error_code, result.error_message)


def _upsertion(user: str, mechanism: str, text: str) -> alter_user_scram_credentials.ScramCredentialUpsertion:
    """`iterations=8192,password=secret`, in brackets on the command line."""
    fields = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    password = fields.get("password")
    if password is None or not fields.get("iterations", "1").isdecimal():
        raise UsageError(
            f"Invalid credential for {mechanism}: {text!r}", hint=f"write {mechanism}=[iterations=8192,password=...]"
        )
    iterations = int(fields.get("iterations", _ITERATIONS_DEFAULT))
    salt = os.urandom(24)
    return alter_user_scram_credentials.ScramCredentialUpsertion(
        name=user,
        mechanism=MECHANISMS[mechanism],
        iterations=iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, iterations),
    )


def describe(cluster: Cluster, kinds: Sequence[str], entity: Entity) -> None:
    """Kinds without a name in `entity` are shown for all names."""
    components = tuple(
        describe_client_quotas.ComponentData(
            entity_type=TYPES[kind],
            match_type=_ANY if kind not in entity else (_DEFAULT if entity[kind] is None else _EXACT),
            match=entity.get(kind),
        )
        for kind in kinds
    )
    request = describe_client_quotas.DescribeClientQuotasRequest(components=components, strict=True)
    answer = cluster.call("describe_client_quotas", request)
    check(answer.error_code, answer.error_message)
    for entry in answer.entries or ():
        names = {part.entity_type: part.entity_name for part in entry.entity}
        subject = ", ".join(_subject(kind, names[TYPES[kind]]) for kind in TYPES if TYPES[kind] in names)
        limits = ", ".join(f"{each.key}={each.value}" for each in sorted(entry.values, key=lambda each: str(each.key)))
        print(f"Quota configs for {subject} are {limits}")
    if list(kinds) == ["users"] and entity.get("users", "") is not None:
        _describe_credentials(cluster, entity.get("users"))


def _describe_credentials(cluster: Cluster, user: str | None) -> None:
    users = None if user is None else (UserName(name=user),)
    answer = cluster.call("describe_user_scram_credentials", DescribeUserScramCredentialsRequest(users=users))
    for result in answer.results:
        if result.error_code == ErrorCode.resource_not_found:
            continue
        if result.error_code != ErrorCode.none:
            raise RequestRefused(result.error_code, result.error_message)
        credentials = ", ".join(f"{_mechanism(each)}=iterations={each.iterations}" for each in result.credential_infos)
        print(f"SCRAM credential configs for user-principal '{result.user}' are {credentials}")


def _mechanism(info: Any) -> str:
    return next((name for name, number in MECHANISMS.items() if number == info.mechanism), str(info.mechanism))


def _subject(kind: str, name: str | None) -> str:
    return f"the default {_SHOWN[kind]}" if name is None else f"{_SHOWN[kind]} '{name}'"
