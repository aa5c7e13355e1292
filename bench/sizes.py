"""How much of everything: `FULL` for figures that mean something, `QUICK` to see that the benchmarks work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int
    """Measured rounds, after one that only warms up; the result is their median."""
    librdkafka_bytes: int
    bare_bytes: int
    round_trips_s: float
    turns: int
    """Of each server, kind of request and number of connections; they are short and alternate."""
    turn_s: float
    first_warm_turn_s: float
    """For the first kind: Apache Kafka compiles what all requests have in common."""
    warm_turn_s: float
    java_turns: int
    java_turn_s: float
    java_warm_bytes: int
    """What a Java client produces or consumes in its first run, which is not measured."""
    java_topic_bytes: int
    """What the topic of a Java consumer holds, before compression: it bounds a turn."""
    end_to_end_count: int
    start_rounds: int
    rest_s: float
    """How long a server is idle before its memory or its idle CPU is read."""
    load_bytes: int
    """The bytes produced to and fetched from a server before its memory after load is read."""
    recovery_bytes: int
    recovery_rounds: int
    topics: int
    partitions_per_topic: int
    connections: int
    group_load_s: float
    transactions_s: float
    lag_s: float
    lag_topics: int
    compaction_bytes: int
    short_log_bytes: int
    long_log_bytes: int


FULL = Sizes(
    rounds=3,
    librdkafka_bytes=300_000_000,
    bare_bytes=1_000_000_000,
    round_trips_s=5.0,
    turns=5,
    turn_s=1.0,
    first_warm_turn_s=6.0,
    warm_turn_s=1.5,
    java_turns=3,
    java_turn_s=10.0,
    java_warm_bytes=150_000_000,
    java_topic_bytes=1_500_000_000,
    end_to_end_count=3_000,
    start_rounds=5,
    rest_s=10.0,
    load_bytes=1_000_000_000,
    recovery_bytes=2 << 30,
    recovery_rounds=3,
    topics=10,
    partitions_per_topic=1_000,
    connections=5_000,
    group_load_s=5.0,
    transactions_s=4.0,
    lag_s=8.0,
    lag_topics=10_000,
    compaction_bytes=200_000_000,
    short_log_bytes=200_000_000,
    long_log_bytes=20_000_000_000,
)

QUICK = Sizes(
    rounds=1,
    librdkafka_bytes=10_000_000,
    bare_bytes=30_000_000,
    round_trips_s=0.5,
    turns=1,
    turn_s=0.2,
    first_warm_turn_s=0.2,
    warm_turn_s=0.1,
    java_turns=1,
    java_turn_s=0.1,
    java_warm_bytes=1_000_000,
    java_topic_bytes=5_000_000,
    end_to_end_count=100,
    start_rounds=1,
    rest_s=0.5,
    load_bytes=30_000_000,
    recovery_bytes=64 << 20,
    recovery_rounds=1,
    topics=2,
    partitions_per_topic=50,
    connections=100,
    group_load_s=1.0,
    transactions_s=0.5,
    lag_s=1.0,
    lag_topics=100,
    compaction_bytes=10_000_000,
    short_log_bytes=20_000_000,
    long_log_bytes=100_000_000,
)
