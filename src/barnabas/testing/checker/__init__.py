"""Runs clients against a broker that is killed and paused, records what they do and see, and finds anomalies.

    python -m barnabas.testing.checker run --workload transactional --minutes 2
    python -m barnabas.testing.checker check history.jsonl

The events of a history are in `events`, the kinds of anomalies in `anomalies`; each analysis is a module. Works with
every broker that speaks Kafka's protocol.
"""

from barnabas.testing.checker.anomalies import Anomaly, Kind
from barnabas.testing.checker.check import Result, check
from barnabas.testing.checker.events import Header
from barnabas.testing.checker.history import BadHistory, Recorder

__all__ = ["Anomaly", "BadHistory", "Header", "Kind", "Recorder", "Result", "check"]
