"""Flags of Kafka's scripts that are known and refused, each with its reason. Everything else acts."""

_CONTROLLER = "controllers have no listener of their own; use --bootstrap-server"
_METRICS = "the Java client's metrics do not exist here: this script measures with librdkafka"

REFUSED: dict[str, dict[str, str]] = {
    "kafka-topics": {
        "--delete-config": "as in Kafka 4 it does nothing; use kafka-configs --alter --delete-config",
    },
    "kafka-configs": {
        "--bootstrap-controller": _CONTROLLER,
    },
    "kafka-features": {"--bootstrap-controller": _CONTROLLER},
    "kafka-metadata-quorum": {"--bootstrap-controller": _CONTROLLER},
    "kafka-reassign-partitions": {"--bootstrap-controller": _CONTROLLER},
    "kafka-cluster": {"--bootstrap-controller": _CONTROLLER, "-C": _CONTROLLER},
    "kafka-dump-log": {
        "--remote-log-metadata-decoder": "tiered storage is not supported; use --print-data-log",
    },
    "kafka-producer-perf-test": {
        "--print-metrics": _METRICS,
    },
    "kafka-consumer-perf-test": {
        "--print-metrics": _METRICS,
    },
}
