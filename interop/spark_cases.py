"""The table: options of Spark's Kafka connector, and which records they must select.

A case says for each record whether it is expected, so checking needs neither connector. Records of open and aborted
transactions are expected only when uncommitted records are read.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from spark_contents import BASE_MS, CODECS, TRIMMED_AT, Contents
from spark_records import Seen

Wanted = Callable[[Seen], bool]


@dataclass(frozen=True)
class Case:
    name: str
    options: Mapping[str, str]
    wanted: Wanted
    committed: bool = False
    """Whether uncommitted records are hidden."""
    cut: bool = False
    """Whether a stream takes several triggers for it."""

    def expected(self, contents: Contents) -> list[Seen]:
        chosen = filter(self.wanted, contents.records(committed=self.committed))
        with_headers = any(name.lower() == "includeheaders" for name in self.options)
        return [seen if with_headers else seen.without_headers() for seen in chosen]


def of(*topics: str) -> Wanted:
    return lambda seen: seen.topic in topics


def between(topic: str, ranges: Mapping[int, tuple[int, int]]) -> Wanted:
    """Offsets of each partition, the last one left out."""
    return lambda seen: seen.topic == topic and seen.offset in range(*ranges.get(seen.partition, (0, 0)))


def in_time(topic: str, start_s: int = 0, end_s: int = 1_000_000) -> Wanted:
    return lambda seen: seen.topic == topic and BASE_MS + start_s * 1000 <= seen.timestamp_ms < BASE_MS + end_s * 1000


def at(second: int) -> str:
    return str(BASE_MS + second * 1000)


def places(topic: str, values: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(partition): value for partition, value in values.items()}})


END: Final = 1_000_000
EARLIEST: Final = {"startingOffsets": "earliest"}
PLAIN: Final = {"subscribe": "plain"}

# How topics are chosen, how records are read, and how work is split into tasks: for batch reads and for streams that
# start with the earliest record.
COMMON: Final = (
    Case("one topic", PLAIN, of("plain")),
    Case("several topics", {"subscribe": " plain , plain-two,"}, of("plain", "plain-two")),
    Case("pattern", {"subscribePattern": "plain.*"}, of("plain", "plain-two")),
    Case("pattern found inside a name", {"subscribePattern": "[l]ain-"}, of("plain-two")),
    Case("pattern of a whole name", {"subscribePattern": " ^plai[a-n]$ "}, of("plain")),
    Case(
        "assigned partitions",
        {"assign": '{"plain":[2,0],"plain-two":[1]}'},
        lambda seen: (seen.topic, seen.partition) in {("plain", 0), ("plain", 2), ("plain-two", 1)},
    ),
    Case("headers", {**PLAIN, "includeHeaders": "true"}, of("plain")),
    Case("names in any case", {"SUBSCRIBE": "plain", "INCLUDEheaders": "TRUE"}, of("plain")),
    Case("every codec", {"subscribe": "codecs", "includeHeaders": "true"}, of("codecs")),
    Case("log append time", {"subscribe": "appended"}, of("appended")),
    Case("nothing there", {"subscribe": "empty"}, of()),
    Case("uncommitted", {"subscribe": "paid"}, of("paid")),
    Case("committed", {"subscribe": "paid", "kafka.isolation.level": "read_committed"}, of("paid"), committed=True),
    Case("compacted", {"subscribe": "compacted"}, of("compacted")),
    Case("records deleted before the start", {"subscribe": "trimmed"}, of("trimmed")),
    Case("more tasks than partitions", {**PLAIN, "minPartitions": "7"}, of("plain")),
    Case("small tasks", {**PLAIN, "maxRecordsPerPartition": "11"}, of("plain")),
    Case(
        "small tasks in transactions",
        {"subscribe": "paid", "maxRecordsPerPartition": "3", "kafka.isolation.level": "read_committed"},
        of("paid"),
        committed=True,
    ),
    Case("small tasks with gaps", {"subscribe": "compacted", "minPartitions": "9"}, of("compacted")),
    Case(
        "settings of the consumer",
        {
            "subscribe": "codecs",
            "kafka.fetch.max.bytes": "4000",
            "kafka.max.partition.fetch.bytes": "2000",
            "kafka.client.id": "parity",
            "kafka.request.timeout.ms": "20000",
            "kafkaConsumer.pollTimeoutMs": "20000",
            "fetchOffset.numRetries": "5",
            "fetchOffset.retryIntervalMs": "20",
            "groupIdPrefix": "parity",
        },
        of("codecs"),
    ),
)

# Where to start, for both.
STARTS: Final = (
    Case(
        "offsets",
        {**PLAIN, "startingOffsets": places("plain", {0: 5, 1: -2, 2: 17})},
        between("plain", {0: (5, END), 1: (0, END), 2: (17, END)}),
    ),
    Case(
        "offsets behind a gap",
        {"subscribe": "compacted", "startingOffsets": places("compacted", {0: 100})},
        between("compacted", {0: (100, END)}),
    ),
    Case("timestamp", {**PLAIN, "startingTimestamp": at(101)}, in_time("plain", 101)),
    Case(
        "a timestamp wins over offsets",
        {**PLAIN, "startingTimestamp": at(101), "startingOffsets": "earliest"},
        in_time("plain", 101),
    ),
    Case(
        "timestamps of partitions",
        {
            **PLAIN,
            "startingOffsetsByTimestamp": places("plain", {0: BASE_MS + 50_500, 1: BASE_MS, 2: BASE_MS + 200_000}),
        },
        lambda seen: (
            seen.topic == "plain" and seen.timestamp_ms >= BASE_MS + {0: 50_500, 1: 0, 2: 200_000}[seen.partition]
        ),
    ),
    Case(
        "no record is so young: the latest",
        {**PLAIN, "startingTimestamp": at(295), "startingOffsetsByTimestampStrategy": "latest"},
        lambda seen: seen.topic == "plain" and seen.partition != 2 and seen.timestamp_ms >= BASE_MS + 295_000,
    ),
    Case(
        "records deleted under the query, and that is fine",
        {
            "subscribe": "trimmed",
            "startingOffsets": places("trimmed", {0: 3, 1: 10}),
            "failOnDataLoss": "false",
        },
        between("trimmed", {0: (TRIMMED_AT, END), 1: (10, END)}),
    ),
)

ENDS: Final = (
    Case(
        "both ends",
        {
            **PLAIN,
            "startingOffsets": places("plain", {0: 13, 1: 20, 2: -2}),
            "endingOffsets": places("plain", {0: 14, 1: 20, 2: -1}),
        },
        between("plain", {0: (13, 14), 2: (0, END)}),
    ),
    Case(
        "both ends inside compressed batches",
        {
            "subscribe": "codecs",
            "startingOffsets": places("codecs", dict.fromkeys(range(len(CODECS)), 33)),
            "endingOffsets": places("codecs", dict.fromkeys(range(len(CODECS)), 91)),
        },
        between("codecs", dict.fromkeys(range(len(CODECS)), (33, 91))),
    ),
    Case(
        "an end in a gap",
        {"subscribe": "compacted", "endingOffsets": places("compacted", {0: 300})},
        between("compacted", {0: (0, 300)}),
    ),
    Case(
        "ends that are control records",
        {
            "subscribe": "paid",
            "startingOffsets": places("paid", {0: 5, 1: 11}),
            "endingOffsets": places("paid", {0: 18, 1: 12}),
            "kafka.isolation.level": "read_committed",
        },
        between("paid", {0: (5, 18), 1: (11, 12)}),
        committed=True,
    ),
    Case("latest", {**PLAIN, "startingOffsets": "EARLIEST", "endingOffsets": " latest "}, of("plain")),
    Case("up to a timestamp", {**PLAIN, "endingTimestamp": at(202)}, in_time("plain", end_s=202)),
    Case(
        "between timestamps",
        {**PLAIN, "startingTimestamp": at(40), "endingTimestamp": at(41)},
        in_time("plain", 40, 41),
    ),
    Case(
        "up to timestamps of partitions, one of them to come",
        {
            **PLAIN,
            "endingOffsetsByTimestamp": places(
                "plain", {0: BASE_MS + 60_000, 1: BASE_MS + 999_000, 2: BASE_MS + 10_000}
            ),
        },
        lambda seen: (
            seen.topic == "plain" and seen.timestamp_ms < BASE_MS + {0: 60_000, 1: 999_000, 2: 10_000}[seen.partition]
        ),
    ),
    Case(
        "options of streams are left alone",
        {**PLAIN, "maxOffsetsPerTrigger": "10", "minOffsetsPerTrigger": "5", "maxTriggerDelay": "1s"},
        of("plain"),
    ),
)

BATCH: Final = (*COMMON, *STARTS, *ENDS)

# Streams cost seconds each: those that can differ from a batch read, and few of them on the second broker.
_ALSO_AS_STREAMS: Final = {
    "several topics",
    "assigned partitions",
    "headers",
    "committed",
    "compacted",
    "small tasks in transactions",
}
STREAM: Final = (
    *(
        Case(case.name, {**EARLIEST, **case.options}, case.wanted, case.committed)
        for case in COMMON
        if case.name in _ALSO_AS_STREAMS
    ),
    *STARTS,
    Case("only what comes", PLAIN, of()),
    Case(
        "so many a trigger",
        {**EARLIEST, "subscribePattern": "plain.*", "maxOffsetsPerTrigger": "90"},
        of("plain", "plain-two"),
        cut=True,
    ),
    Case(
        "so many a trigger, in small tasks",
        {**EARLIEST, "subscribe": "codecs", "maxOffsetsPerTrigger": "400", "minPartitions": "8"},
        of("codecs"),
        cut=True,
    ),
    Case(
        "so many a trigger in transactions",
        {
            **EARLIEST,
            "subscribe": "paid",
            "maxOffsetsPerTrigger": "25",
            "minOffsetsPerTrigger": "10",
            "kafka.isolation.level": "read_committed",
        },
        of("paid"),
        committed=True,
        cut=True,
    ),
)

_ALSO_ELSEWHERE: Final = {"committed", "timestamps of partitions", "so many a trigger", "only what comes"}
STREAM_ELSEWHERE: Final = tuple(case for case in STREAM if case.name in _ALSO_ELSEWHERE)
