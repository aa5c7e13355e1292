"""The consumer group of a query: shows its offsets to lag tools, and remembers where a new query starts.

Spark's checkpoint decides where a query continues. The group has two other purposes:

- Progress. The offsets of a finished batch are committed, by the source (one trigger late: that is when Spark tells it)
  and by the listener (at once). Neither may undo a commit of the other, so the listener reads before it commits.
- The start. Spark asks a source for its initial offsets again until a first batch is in the checkpoint, and "latest" is
  different each time. So they are committed before they are used, with the metadata
  `spark:initial:<digest of the starting options>`. As long as the group has that metadata, they are used again.

The group has no members, so brokers of any version accept the commits, as they do those of Kafka's own reset tool. They
refuse them while another consumer has live members. Then there is a warning, and the query continues from its
checkpoint.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError, Refused
from barnabas.client.group_offsets import Committed, commit_offsets, fetch_offsets
from barnabas.client.offsets import LATEST
from barnabas.spark.query.progress import Offsets, Partition
from barnabas.wire.errors import ErrorCode

_log = logging.getLogger("barnabas.spark")

_STARTING_OPTIONS: Final = (
    "subscribe",
    "subscribepattern",
    "assign",
    "startingoffsets",
    "startingtimestamp",
    "startingoffsetsbytimestamp",
    "startingoffsetsbytimestampstrategy",
)
_INITIAL: Final = "spark:initial:"
_PROGRESS: Final = "spark:progress:"
_OURS: Final = "spark:"

_MEMBERS_THERE: Final = frozenset(
    {
        ErrorCode.unknown_member_id,
        ErrorCode.illegal_generation,
        ErrorCode.rebalance_in_progress,
        ErrorCode.stale_member_epoch,
        ErrorCode.fenced_member_epoch,
    }
)


def start_digest(options: Mapping[str, str]) -> str:
    """A digest of the options that decide where a query begins. Names are case-insensitive, as in Spark."""
    given = {name.lower(): value.strip() for name, value in options.items()}
    starting = {name: given[name] for name in _STARTING_OPTIONS if name in given}
    return hashlib.sha256(json.dumps(starting, sort_keys=True).encode()).hexdigest()[:16]


class QueryGroup:
    def __init__(self, open_cluster: Callable[[], Cluster], group_id: str, *, start: str) -> None:
        """`open_cluster` is called for each use and owns what it returns; `start` is a `start_digest`."""
        self.group_id = group_id
        self._cluster = open_cluster
        self._initial = _INITIAL + start
        self._progress = _PROGRESS + start
        self._silenced = False
        """The same problem is logged once, until a commit succeeds again."""

    def initial(self) -> dict[Partition, int] | None:
        """The offsets kept for this start, if no batch was committed since; ClientError if no broker answers.

        If an operator has reset offsets of some partitions meanwhile, these are used.
        """
        try:
            committed = fetch_offsets(self._cluster(), self.group_id, None)
        except Refused as refusal:
            self._warn("the offsets at which the query began cannot be looked up", refusal)
            return None
        topics = {topic for (topic, _), one in committed.items() if one.metadata == self._initial}
        mine = {place: one for place, one in committed.items() if place[0] in topics}
        if not mine or any(one.metadata == self._progress for one in mine.values()):
            return None
        return {
            place: one.offset
            for place, one in mine.items()
            if one.metadata == self._initial or not one.metadata.startswith(_OURS)
        }

    def keep_initial(self, offsets: Offsets) -> bool:
        """Whether the group has them now; ClientError if no broker answers: then they are not safe to use yet."""
        return self._write(offsets, self._initial, "the offsets at which the query begins are not kept in its group")

    def commit(self, offsets: Offsets) -> bool:
        """For the source: Spark calls it before the next batch, so no other commit can be further. Never raises."""
        return self._write_progress(offsets)

    def advance(self, offsets: Offsets, *, anew: bool = False) -> bool:
        """For the listener, which may be late: commits only what has not been committed yet. Never raises.

        Only this query's own commits count as further; other offsets in the group are overwritten. With `anew`, offsets
        are committed again, so that they do not expire (`offsets.retention.minutes`) while the query is idle.
        """
        try:
            committed = fetch_offsets(self._cluster(), self.group_id, offsets)
            behind = {place for place, offset in offsets.items() if self._is_further(committed.get(place), offset)}
            behind -= self._impossible(behind, committed)
        except ClientError as error:
            self._warn("the progress of the query is not shown in its group", error)
            return False
        due = {place: offset for place, offset in offsets.items() if place not in behind}
        if not anew and all(
            place in committed and committed[place][:2] == (due[place], self._progress) for place in due
        ):
            return True
        return self._write_progress(due)

    def committed(self) -> dict[Partition, int]:
        """The query's offsets in its group: its start, or its progress; ClientError if no broker answers."""
        notes = (self._initial, self._progress)
        found = fetch_offsets(self._cluster(), self.group_id, None)
        return {place: one.offset for place, one in found.items() if one.metadata in notes}

    def _is_further(self, committed: Committed | None, offset: int) -> bool:
        return committed is not None and committed.metadata == self._progress and committed.offset > offset

    def _impossible(self, places: Iterable[Partition], committed: Mapping[Partition, Committed]) -> set[Partition]:
        """Partitions whose committed offset is beyond the log's end: it belongs to a topic that was deleted."""
        ends = self._cluster().offsets(places, LATEST)
        return {
            place for place, end in ends.items() if end.error == ErrorCode.none and committed[place].offset > end.offset
        }

    def _write_progress(self, offsets: Offsets) -> bool:
        trouble = "the progress of the query is not shown in its group"
        try:
            return self._write(offsets, self._progress, trouble)
        except ClientError as error:
            self._warn(trouble, error)
            return False

    def _write(self, offsets: Offsets, note: str, trouble: str) -> bool:
        try:
            commit_offsets(self._cluster(), self.group_id, {place: (offset, note) for place, offset in offsets.items()})
        except Refused as refusal:
            if refusal.code == ErrorCode.unknown_topic_or_partition:
                return True  # the others are committed, and a deleted partition has no lag
            self._warn(trouble, refusal)
            return False
        self._silenced = False
        return True

    def _warn(self, trouble: str, error: ClientError) -> None:
        if self._silenced:
            return
        self._silenced = True
        if isinstance(error, Refused) and error.code in _MEMBERS_THERE:
            _log.warning(
                "The group %s has live members of another consumer, so %s (%s). The query continues: its "
                "offsets are in its checkpoint. Stop the other consumers, or give the query its own kafka.group.id.",
                self.group_id,
                trouble,
                error.code.name.upper(),
            )
        else:
            _log.warning("In the group %s, %s: %s", self.group_id, trouble, error)
