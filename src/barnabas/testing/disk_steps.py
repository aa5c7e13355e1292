"""Names the steps of a broker's disk I/O: `append: write .log`, `compaction: rename .cleaned to .swap (.log)`.

A name consists of the purpose, as far as the file shows it, the operation, and the kind of file. Partitions of internal
topics have their own names (`groups append: ...`, `transactions append: ...`, `metadata append: ...`), and so do
checkpoints. Names contain neither topics nor offsets, so that "the third `roll: create .log`" is the same step in every
run.
"""

import os
from typing import Final, Literal

from barnabas.log.file_names import CLEANED, DELETED, LOG, PRODUCER_SNAPSHOT, SWAP, FileName, parse_file_name
from barnabas.log.log_directory import CLEAN_SHUTDOWN, DELETE_SUFFIX, parse_partition_name
from barnabas.log.meta_properties import FILE_NAME as META_PROPERTIES
from barnabas.log.partition_metadata import FILE_NAME as PARTITION_METADATA
from barnabas.model import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from barnabas.portable.replacement import TEMPORARY
from barnabas.raft.core.election_state import FILE_NAME as QUORUM_STATE
from barnabas.raft.core.snapshot_file import parse_snapshot_name

Effect = Literal["create", "write", "truncate", "sync", "rename", "remove", "make", "sync names of"]

_INTERNAL: Final = {METADATA_TOPIC: "metadata ", OFFSETS_TOPIC: "groups ", TRANSACTIONS_TOPIC: "transactions "}


def name_step(effect: Effect, path: str, *, target: str | None = None) -> str:
    """`target`: the new name, for a rename."""
    parent, base = os.path.split(path)
    if (owner := _partition_of(base)) is not None:
        return _name_directory(effect, owner, base, target)
    temporary = base.endswith(TEMPORARY)
    plain = base.removesuffix(TEMPORARY)
    whose = _whose(_partition_of(os.path.basename(parent)))
    file = parse_file_name(plain)
    if file is not None:
        return whose + _name_segment_file(effect, file, target)
    what = f"{effect} {'temporary ' if temporary else ''}"
    if plain == QUORUM_STATE:
        return f"election: {what}quorum-state"
    if parse_snapshot_name(plain) is not None:
        return f"metadata snapshot: {what}.checkpoint"
    if plain == CLEAN_SHUTDOWN:
        return f"clean mark: {what}{plain}"
    if plain == META_PROPERTIES:
        return f"format: {what}{plain}"
    if plain == PARTITION_METADATA:
        return f"{whose}creation: {what}{plain}"
    if plain.endswith("-checkpoint"):
        return f"{whose}checkpoint: {what}{plain}"
    return f"{whose}other: {what}{plain if '.' in plain or '-' in plain else 'directory'}"


def _partition_of(name: str) -> str | None:
    """The topic, if this is a partition's directory, which may be marked for deletion."""
    if name.endswith(DELETE_SUFFIX):
        name = name.removesuffix(DELETE_SUFFIX).rpartition(".")[0]
    found = parse_partition_name(name)
    return None if found is None else found.topic


def _whose(topic: str | None) -> str:
    return _INTERNAL.get(topic or "", "")


def _name_directory(effect: Effect, topic: str, base: str, target: str | None) -> str:
    whose = _whose(topic)
    if base.endswith(DELETE_SUFFIX) or target is not None:
        return f"{whose}topic deletion: {effect} directory"
    return f"{whose}creation: make directory" if effect == "make" else f"{whose}flush: {effect} directory"


def _name_segment_file(effect: Effect, file: FileName, target: str | None) -> str:
    kind = file.kind + file.suffix
    if effect == "rename":
        to = parse_file_name(os.path.basename(target or ""))
        suffix = to.suffix if to is not None else ""
        if suffix == DELETED:
            return f"deletion: rename {kind} to {DELETED}"
        return f"compaction: rename {file.suffix or 'segment'} to {suffix or 'segment'} ({file.kind})"
    if file.suffix == DELETED or (effect == "remove" and not file.suffix):
        return f"deletion: {effect} {kind}"
    if file.suffix in (CLEANED, SWAP):
        return f"compaction: {effect} {kind}"
    if effect == "sync":
        return f"flush: sync {kind}"
    if file.kind == LOG:
        if effect == "write":
            return f"append: write {kind}"
        if effect == "truncate":
            return f"truncation: cut {kind}"
    phase = "creation" if file.offset == 0 and file.kind != PRODUCER_SNAPSHOT else "roll"
    return f"{phase}: {effect} {kind}"
