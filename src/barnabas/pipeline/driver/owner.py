"""One folder for each version of a pipeline: a record in `barnabas.spark.metadata_topic` says which folder runs it.

Two folders with the same project name would share consumer groups, dead letters and what readers see, and each would
take the other's for its own. A folder is known by a random id in its state (`Claims.id`), so it may move, also to
another machine.
"""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from barnabas.client.cluster import Cluster
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.pipeline.driver import claims
from barnabas.pipeline.location import FIRST_VERSION
from barnabas.pipeline.project.model import Project
from barnabas.pipeline.status import this_host
from barnabas.spark import metadata_topic
from barnabas.spark.errors import UserError

_KIND: Final = "owner\t"
_TRANSACTION_TIMEOUT_MS: Final = 60_000


class Owner(msgspec.Struct, frozen=True):
    """The folder that runs a version."""

    id: str
    host: str
    state_folder: str
    since_ms: int

    @property
    def folder(self) -> Path:
        return Path(self.state_folder).parent.parent


def check(cluster: Cluster, project: Project, version: str, folder_id: str) -> None:
    """Refuse to run a version that another folder runs. `folder_id`: that of this folder."""
    owner = _read(cluster, project, version)
    if owner is None or not _is_another(owner, project.state_folder(version), folder_id):
        return
    flag = "" if version == FIRST_VERSION else f" --version {version}"
    since = datetime.fromtimestamp(owner.since_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    raise UserError(
        f"{version} of the pipeline `{project.name}` is run from another folder, {owner.folder} on {owner.host}, since "
        f"{since} UTC: the two would share consumer groups and dead letters",
        "give this project another `name:`; or, if the other folder is no longer used, take over from it: barnabas "
        f"pipeline run{flag} --into-existing",
    )


def register(cluster: Cluster, project: Project, version: str, folder_id: str, *, take_over: bool) -> None:
    """Record that this folder runs the version. Its id is already stored in the folder."""
    state_folder = os.path.abspath(project.state_folder(version))
    known = _read(cluster, project, version)
    if known is not None and (known.id, known.host, known.state_folder) == (folder_id, this_host(), state_folder):
        return
    metadata_topic.create(cluster)
    transactions = Transactions(cluster)
    # If two start at the same moment, the one that takes over the transactional id last sees the other's record, or
    # the other cannot commit.
    producer = transactions.take_over(_transactional_id(project, version), timeout_ms=_TRANSACTION_TIMEOUT_MS)
    if not take_over:
        check(cluster, project, version, folder_id)
    owner = Owner(folder_id, this_host(), state_folder, int(time.time() * 1000))
    writer = TransactionWriter(cluster, transactions, producer)
    metadata_topic.write(writer, [(_key(project, version), msgspec.json.encode(owner))])
    writer.commit()


def _is_another(owner: Owner, state_folder: Path, folder_id: str) -> bool:
    if owner.host != this_host():
        return owner.id != folder_id
    if Path(owner.state_folder) == Path(os.path.abspath(state_folder)):
        return False  # its state may have been removed to start from scratch
    # Another folder on this machine. If that one still exists, it is a different project, or this one is a copy of it.
    return _id_in(Path(owner.state_folder)) == owner.id


def _id_in(state_folder: Path) -> str | None:
    try:
        return claims.read(state_folder).id
    except UserError:
        return None


def _read(cluster: Cluster, project: Project, version: str) -> Owner | None:
    found = metadata_topic.read(cluster).get(_key(project, version))
    return None if found is None else msgspec.json.decode(found, type=Owner)


def _key(project: Project, version: str) -> str:
    return f"{_KIND}{project.name}\t{version}"


def _transactional_id(project: Project, version: str) -> str:
    return f"barnabas.{project.name}.{version}.owner"
