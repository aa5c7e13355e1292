"""The file `quorum-state`: the epoch, its leader, and the candidate that this voter voted for.

One line of JSON, as Kafka writes it: `data_version` 1 with kraft.version 1, and 0 with voters from the configuration,
whose ids are then in it and directories are not.
"""

import base64
import json
import uuid
from typing import Final, NamedTuple

from barnabas.raft.core.voters import NO_DIRECTORY, ReplicaKey
from barnabas.wire.errors import CorruptMessage

FILE_NAME: Final = "quorum-state"
NO_LEADER: Final = -1


class ElectionState(NamedTuple):
    epoch: int
    leader_id: int = NO_LEADER
    voted: ReplicaKey | None = None


def encode_election_state(state: ElectionState, static_voter_ids: tuple[int, ...] | None = None) -> bytes:
    """`static_voter_ids`: with kraft.version 0."""
    voted = state.voted or ReplicaKey(-1)
    fields: dict[str, object]
    if static_voter_ids is None:
        fields = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted.id,
            "votedDirectoryId": base64.urlsafe_b64encode(voted.directory_id.bytes).decode().rstrip("="),
            "data_version": 1,
        }
    else:
        fields = {
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted.id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter_id} for voter_id in static_voter_ids],
            "data_version": 0,
        }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_election_state(content: bytes) -> ElectionState:
    try:
        fields = json.loads(content)
        data_version = fields["data_version"]
        if data_version not in (0, 1):
            raise CorruptMessage(f"data_version is {data_version}; only 0 and 1 are supported")
        voted_id = int(fields["votedId"])
        directory = NO_DIRECTORY
        if data_version == 1:
            directory = uuid.UUID(bytes=base64.urlsafe_b64decode(fields["votedDirectoryId"] + "=="))
        return ElectionState(
            epoch=int(fields["leaderEpoch"]),
            leader_id=int(fields["leaderId"]),
            voted=None if voted_id < 0 else ReplicaKey(voted_id, directory),
        )
    except json.JSONDecodeError as error:
        raise CorruptMessage(f"byte {error.pos} is not what JSON has there ({error.msg})") from error
    except KeyError as error:
        raise CorruptMessage(f"there is no {error.args[0]} in it") from error
    except (ValueError, TypeError) as error:
        raise CorruptMessage(str(error)) from error
