"""What the core wants done."""

from typing import NamedTuple

from msgspec import Struct, field

from barnabas.raft.core.control_records import ControlMessage
from barnabas.raft.core.election_state import ElectionState
from barnabas.raft.core.log_view import LogBatch
from barnabas.raft.core.messages import Request, Response
from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.core.voters import Endpoints


class Peer(NamedTuple):
    id: int
    """The node id; bootstrap servers, whose node id is unknown, have negative ones."""
    endpoints: Endpoints


class Send(NamedTuple):
    request_id: int
    """The answer is passed to `on_response` with it, or `on_no_response` says that none will come."""
    to: Peer
    request: Request


class Answer(NamedTuple):
    request_id: object
    """As it was passed to `on_request`."""
    response: Response


class ControlBatch(NamedTuple):
    base_offset: int
    epoch: int
    messages: tuple[ControlMessage, ...]


class SnapshotChunk(NamedTuple):
    snapshot_id: SnapshotId
    position: int
    data: bytes


class Ready(NamedTuple):
    """Carried out in the order of the fields, all but the first without waiting, before the next event.

    If the log was changed by it, `on_log_changed` is that event. Everything in the log is synced soon, also what was
    found there at the start, and `on_synced` says so.
    """

    election: ElectionState | None = None
    """Write this to disk, then call `on_persisted`. Whatever depends on it comes in the Ready of that call."""
    truncate_to: int | None = None
    """Drop the records from this offset on. A sync that was under way counts for nothing: do not report it."""
    restart_log_at: SnapshotId | None = None
    """Drop the whole log; it continues after this snapshot, which is verified, synced, and now the state."""
    write: tuple[LogBatch, ...] = ()
    """Append what a leader sent."""
    append: tuple[ControlBatch, ...] = ()
    """Append control batches of our own."""
    chunk: SnapshotChunk | None = None
    """Write this into the file of an unfinished snapshot; at position 0 it starts anew."""
    verify: SnapshotId | None = None
    """All of that file was written: sync and check it, then call `on_snapshot_verified`."""
    send: tuple[Send, ...] = ()
    answer: tuple[Answer, ...] = ()
    high_watermark: int | None = None
    """Everything below is committed."""


class Outbox(Struct):
    """What is not yet in a `Ready`."""

    election: ElectionState | None = None
    truncate_to: int | None = None
    restart_log_at: SnapshotId | None = None
    write: list[LogBatch] = field(default_factory=list)
    append: list[ControlBatch] = field(default_factory=list)
    chunk: SnapshotChunk | None = None
    verify: SnapshotId | None = None
    send: list[Send] = field(default_factory=list)
    answer: list[Answer] = field(default_factory=list)
    high_watermark: int | None = None

    def as_ready(self) -> Ready:
        return Ready(
            election=self.election,
            truncate_to=self.truncate_to,
            restart_log_at=self.restart_log_at,
            write=tuple(self.write),
            append=tuple(self.append),
            chunk=self.chunk,
            verify=self.verify,
            send=tuple(self.send),
            answer=tuple(self.answer),
            high_watermark=self.high_watermark,
        )
