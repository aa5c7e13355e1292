"""Which voters and which kraft.version hold, from which offset on.

A record of voters counts from the moment it is in the log, committed or not, and no longer when it is truncated.
"""

from typing import Final

from barnabas.raft.core.control_records import KRaftVersionRecord, VotersRecord, voters_of
from barnabas.raft.core.log_view import LogBatch
from barnabas.raft.core.voters import VoterSet

BEFORE_THE_LOG: Final = -1
"""The offset of voters that no record names: those of the configuration, or of the bootstrap snapshot."""


class VoterHistory:
    def __init__(self, voters: VoterSet, *, kraft_version: int, offset: int = BEFORE_THE_LOG) -> None:
        """As the newest snapshot says, or the configuration. `offset`: of the last record in the snapshot."""
        self._voters = [(offset, voters)]
        self._versions = [(offset, kraft_version)]

    @property
    def voters(self) -> VoterSet:
        return self._voters[-1][1]

    @property
    def voters_offset(self) -> int:
        return self._voters[-1][0]

    @property
    def kraft_version(self) -> int:
        return self._versions[-1][1]

    def at(self, end_offset: int) -> tuple[VoterSet, int]:
        """Voters and kraft.version that the records below `end_offset` say: what a snapshot contains."""
        voters = next(voters for offset, voters in reversed(self._voters) if offset < end_offset)
        version = next(version for offset, version in reversed(self._versions) if offset < end_offset)
        return voters, version

    def add(self, batch: LogBatch) -> None:
        for offset, message in enumerate(batch.controls, batch.base_offset):
            if isinstance(message, VotersRecord):
                self._voters.append((offset, voters_of(message)))
            elif isinstance(message, KRaftVersionRecord):
                self._versions.append((offset, message.k_raft_version))

    def truncate(self, end_offset: int) -> None:
        """The first entry always stays: it is below the log."""
        self._voters[1:] = [entry for entry in self._voters[1:] if entry[0] < end_offset]
        self._versions[1:] = [entry for entry in self._versions[1:] if entry[0] < end_offset]

    def restart(self, voters: VoterSet, kraft_version: int, offset: int) -> None:
        self._voters = [(offset, voters)]
        self._versions = [(offset, kraft_version)]

    def forget_before(self, end_offset: int) -> None:
        """Nobody asks for voters below the newest snapshot any more."""
        self._voters = _since(self._voters, end_offset)
        self._versions = _since(self._versions, end_offset)


def _since(entries: list, end_offset: int) -> list:  # type: ignore[type-arg]
    first = max((index for index, (offset, _) in enumerate(entries) if offset < end_offset), default=0)
    return entries[first:]
