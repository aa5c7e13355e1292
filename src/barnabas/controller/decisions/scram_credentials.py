"""Decides AlterUserScramCredentials requests.

The client salts and hashes the password. Only the two keys that a server needs to check a proof (RFC 5802) are stored;
the password cannot be derived from them. A request may name each user only once, whatever the mechanism.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from barnabas.controller.decisions.decision import Decision, Outcome, check_record_count
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.records import MetadataRecord, RemoveUserScramCredentialRecord, UserScramCredentialRecord
from barnabas.wire.errors import (
    DuplicateResource,
    KafkaError,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

HASHES: Final = {1: "sha256", 2: "sha512"}
"""By mechanism: SCRAM-SHA-256 and SCRAM-SHA-512."""
ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384

_Change = tuple[ScramCredentialUpsertion | ScramCredentialDeletion, Callable[[], MetadataRecord]]


def decide_alter_user_scram_credentials(
    image: ClusterImage, request: AlterUserScramCredentialsRequest
) -> Decision[dict[str, Outcome]]:
    """Returns the outcome of each user."""
    changes: list[_Change] = [(each, partial(_deletion, image, each)) for each in request.deletions]
    changes += ((each, partial(_upsertion, each)) for each in request.upsertions)
    occurrences = Counter(change.name for change, _ in changes)
    records: list[MetadataRecord] = []
    outcomes: dict[str, Outcome] = {}
    for change, make_record in changes:
        if outcomes.get(change.name) is not None:
            continue
        try:
            if not change.name:
                raise UnacceptableCredential("Username must not be empty")
            if change.mechanism not in HASHES:
                raise UnsupportedSaslMechanism("Unknown SCRAM mechanism")
            record = make_record()
            if occurrences[change.name] > 1:
                raise DuplicateResource("A user credential cannot be altered twice in the same request")
            check_record_count(len(records) + 1)
        except KafkaError as error:
            outcomes[change.name] = error
        else:
            outcomes[change.name] = None
            records.append(record)
    return Decision(tuple(records), outcomes)


def _deletion(image: ClusterImage, deletion: ScramCredentialDeletion) -> MetadataRecord:
    if (deletion.name, deletion.mechanism) not in image.access.scram_credentials:
        raise ResourceNotFound("Attempt to delete a user credential that does not exist")
    return RemoveUserScramCredentialRecord(name=deletion.name, mechanism=deletion.mechanism)


def _upsertion(upsertion: ScramCredentialUpsertion) -> MetadataRecord:
    if upsertion.iterations < ITERATIONS_MIN:
        raise UnacceptableCredential("Too few iterations")
    if upsertion.iterations > ITERATIONS_MAX:
        raise UnacceptableCredential("Too many iterations")
    if not upsertion.salted_password:
        raise UnacceptableCredential("The salted password must not be empty")
    hash_name = HASHES[upsertion.mechanism]
    client_key = hmac.digest(upsertion.salted_password, b"Client Key", hash_name)
    return UserScramCredentialRecord(
        name=upsertion.name,
        mechanism=upsertion.mechanism,
        salt=upsertion.salt,
        stored_key=hashlib.new(hash_name, client_key).digest(),
        server_key=hmac.digest(upsertion.salted_password, b"Server Key", hash_name),
        iterations=upsertion.iterations,
    )
