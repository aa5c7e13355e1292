"""Opens the metadata quorum: formats it at the first start, and replays it at every start."""

from collections.abc import Callable

from barnabas.env import Clock, Disk, Workers
from barnabas.log.settings import LogSettings
from barnabas.metadata.configs import BrokerConfigs
from barnabas.model import METADATA_PARTITION, METADATA_TOPIC_ID
from barnabas.node.errors import StartError
from barnabas.node.metadata_log import PartitionMetadataLog
from barnabas.node.storage import Storage
from barnabas.raft.core.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet
from barnabas.raft.node import RaftNode
from barnabas.raft.ports import Listener
from barnabas.raft.quorum_directory import QuorumDirectory
from barnabas.wire.errors import KafkaError


def metadata_log_settings(configs: BrokerConfigs) -> LogSettings:
    """Records are kept until a snapshot covers them, whatever their age or size."""
    return LogSettings(
        segment_bytes=configs.integer("metadata.log.segment.bytes"),
        segment_ms=configs.integer("metadata.log.segment.ms"),
        retention_ms=-1,
        retention_bytes=-1,
    )


async def open_quorum(
    storage: Storage,
    configs: BrokerConfigs,
    *,
    listener: Listener,
    on_failure: Callable[[Exception], None],
    disk: Disk,
    clock: Clock,
    workers: Workers,
) -> RaftNode:
    """When this returns, the node leads, and `listener` has got everything that is committed."""
    path = f"{storage.metadata_path}/{METADATA_PARTITION}"
    local = ReplicaKey(configs.integer("node.id"), storage.directory_ids[0])
    try:
        quorum = QuorumDirectory(disk, path)
        if not quorum.is_formatted:
            # Other voters would connect to this endpoint; in a quorum of one there are none.
            endpoint = VoterEndpoint("CONTROLLER", "localhost", 9093)
            quorum.format(VoterSet((Voter(local, (endpoint,)),)), now_ms=clock.now_ms())
        log = storage.store.create(METADATA_PARTITION, METADATA_TOPIC_ID, metadata_log_settings(configs))
        raft = RaftNode(
            local=local,
            directory=path,
            log=PartitionMetadataLog(log, clock.now_ms),
            listener=listener,
            on_failure=on_failure,
            disk=disk,
            clock=clock,
            workers=workers,
            snapshot_interval_bytes=configs.integer("metadata.log.max.record.bytes.between.snapshots"),
        )
        await raft.start()
    except (KafkaError, OSError) as error:
        raise StartError(f"the metadata log in {path} cannot be opened: {error}") from error
    return raft
