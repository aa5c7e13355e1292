"""Flags of Kafka's scripts that are known and refused, each with its reason. Everything else acts."""

_QUOTAS = "client quotas and SCRAM users are not served yet; only topics, brokers and groups have settings"
_TRANSACTIONS = "transactions are not served yet"
_METRICS = "the Java client's metrics do not exist here: this script measures with librdkafka"

REFUSED: dict[str, dict[str, str]] = {
    "kafka-topics": {
        "--delete-config": "as in Kafka 4 it does nothing; use kafka-configs --alter --delete-config",
    },
    "kafka-configs": {
        "--bootstrap-controller": "controllers have no listener of their own; use --bootstrap-server",
        "--client": _QUOTAS,
        "--client-defaults": _QUOTAS,
        "--user": _QUOTAS,
        "--user-defaults": _QUOTAS,
        "--ip": _QUOTAS,
        "--ip-defaults": _QUOTAS,
    },
    "kafka-dump-log": {
        "--remote-log-metadata-decoder": "tiered storage is not known here; use --print-data-log",
    },
    "kafka-producer-perf-test": {
        "--print-metrics": _METRICS,
        "--transactional-id": _TRANSACTIONS,
        "--transaction-duration-ms": _TRANSACTIONS,
    },
    "kafka-consumer-perf-test": {
        "--print-metrics": _METRICS,
    },
}
