"""The committed records of a topic with one partition, decided by its markers, not by a client's isolation level."""

from collections import Counter

from barnabas.client.cluster import Cluster
from barnabas.client.transaction_log import read_log
from barnabas.records.control import read_marker
from barnabas.records.record import decode_records


def committed(cluster: Cluster, topic: str) -> Counter[str]:
    """All of it was written in transactions, and none of them is open."""
    values: Counter[str] = Counter()
    pending: dict[int, list[str]] = {}
    for batch in read_log(cluster, topic, 0, start=0):
        if not batch.header.is_control:
            assert batch.header.is_transactional
            found = decode_records(batch, max_bytes=1 << 20)
            pending.setdefault(batch.header.producer_id, []).extend((each.value or b"").decode() for each in found)
            continue
        ended, marker = pending.pop(batch.header.producer_id, []), read_marker(batch)
        if marker is not None and marker.commit:
            values.update(ended)
    assert not pending, "something is still open"
    return values
