"""The history tier: typed columns from Parquet compared with the connector and from_json, and the archiver's cost."""

import json
import subprocess
import sys
import time
from functools import partial
from random import Random
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from bench.admin import make_topic
from bench.children import in_child
from bench.process_facts import cpu_s
from bench.results import Better, Measure
from bench.sockets import HOST, TIMEOUT_S
from bench.spark.reads import UNIT
from bench.spark.stage import OURS, THEIRS, Benchmark, SparkStage, Turn
from bench.spark.topics import PARTITIONS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

NAME: Final = "history"
SCHEMA: Final = (
    "id STRING, device STRING, site STRING, at TIMESTAMP, temperature DOUBLE, humidity DOUBLE, pressure DOUBLE, "
    "battery INT, firmware STRING, ok BOOLEAN"
)
_QUESTION: Final = ("count(id)", "sum(battery)", "round(sum(temperature), 3)", "max(at)", "sum(CAST(ok AS INT))")
_READ: Final = Measure(NAME, "typed columns of JSON records, five sums", UNIT, Better.MORE, 15.0)
_CORES: Final = Measure(NAME, "archiver while 100 MB/s are produced: cores used", "", Better.LESS, ceiling=0.5)
_BEHIND: Final = Measure(NAME, "archiver while 100 MB/s are produced: behind at the end", "s", Better.LESS, ceiling=5.0)
_VALUE_BYTES: Final = 1024
_RECORDS_PER_S: Final = 100_000_000 // _VALUE_BYTES
_DISTINCT: Final = 10_000


def run(stage: SparkStage) -> None:
    _read(stage)
    _keep_up(stage)


def _read(stage: SparkStage) -> None:
    topic, count, history = "typed", stage.sizes.history_records, stage.directory / "history"
    make_topic(stage.server.port, topic, PARTITIONS)
    in_child(_produce_documents, stage.server.port, topic, count)
    subprocess.run([*_archiver(stage, topic, history), "--schema", SCHEMA], check=True, stdout=subprocess.DEVNULL)
    answers: dict[str, Any] = {}
    stage.alternate(
        [Turn(_READ, who, partial(_ask, stage, who, topic, history, answers, count)) for who in (OURS, THEIRS)]
    )


def _ask(stage: SparkStage, who: str, topic: str, history: "Path", answers: dict[str, Any], count: int) -> float:
    started = time.perf_counter()
    frame = _typed(stage, topic, history) if who == OURS else _decoded(stage, topic)
    answers[who] = tuple(frame.selectExpr(*_QUESTION).collect()[0])
    elapsed_s = time.perf_counter() - started
    if answers[who][0] != count or len(set(answers.values())) != 1:
        raise RuntimeError(f"not the same rows, or not all {count}: {answers}")
    return count / 1e3 / elapsed_s


def _typed(stage: SparkStage, topic: str, history: "Path") -> "DataFrame":
    from barnabas.spark import history as history_of

    return history_of(stage.spark, topic=topic, path=history, bootstrap_servers=stage.servers)


def _decoded(stage: SparkStage, topic: str) -> "DataFrame":
    from pyspark.sql.functions import col, from_json

    frame = stage.spark.read.format(THEIRS).options(**{"kafka.bootstrap.servers": stage.servers, "subscribe": topic})
    return frame.load().select(from_json(col("value").cast("string"), SCHEMA).alias("row")).select("row.*")


def _keep_up(stage: SparkStage) -> None:
    """The archiver follows a producer. Its CPU use is measured from its first record to the last one produced."""
    topic, history = "fast", stage.directory / "history"
    make_topic(stage.server.port, topic, PARTITIONS)
    for number in range(stage.sizes.rounds):
        archiver = subprocess.Popen([*_archiver(stage, topic, history), "--follow"], stdout=subprocess.DEVNULL)
        try:
            before, started = cpu_s(archiver.pid), time.monotonic()
            producer = Thread(
                target=in_child, args=(_produce_steadily, stage.server.port, topic, stage.sizes.archive_s)
            )
            producer.start()
            producer.join()
            stage.add(_CORES, OURS, (cpu_s(archiver.pid) - before) / (time.monotonic() - started))
            stage.add(_BEHIND, OURS, _seconds_behind(stage, topic, history, archiver))
        finally:
            archiver.terminate()
            archiver.wait(TIMEOUT_S)
        stage.log(f"{topic}: {(number + 1) * stage.sizes.archive_s * _RECORDS_PER_S:,} records archived")


def _seconds_behind(stage: SparkStage, topic: str, history: "Path", archiver: "subprocess.Popen[bytes]") -> float:
    """How long it takes to read the rest once the producer has ended; the last file is written right after."""
    stopped = time.monotonic()
    archiver.terminate()  # it finishes the current read first
    archiver.wait(TIMEOUT_S)
    subprocess.run(_archiver(stage, topic, history), check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - stopped


def _archiver(stage: SparkStage, topic: str, history: "Path") -> list[str]:
    command = [sys.executable, "-m", "barnabas", "archive", "run", "--bootstrap-server", stage.servers]
    return [*command, "--to", str(history), "--topic", topic]


def _produce_documents(port: int, topic: str, count: int) -> None:
    choice = Random(7)
    documents = [_document(choice, number) for number in range(_DISTINCT)]
    producer = _producer(port, "zstd")
    for number in range(count):
        _send(producer, topic, documents[number % _DISTINCT])
    _finish(producer, topic)


def _document(choice: Random, number: int) -> bytes:
    fields = {
        "id": f"{choice.getrandbits(64):016x}",
        "device": f"device-{number % 5000:05d}",
        "site": choice.choice(("Berlin", "Lisboa", "Oslo", "Praha")),
        "at": f"2026-01-{1 + number % 28:02d}T12:{number % 60:02d}:00.000Z",
        "temperature": round(choice.gauss(20, 5), 2),
        "humidity": round(choice.uniform(20, 90), 1),
        "pressure": round(choice.gauss(1013, 8), 1),
        "battery": choice.randrange(101),
        "firmware": f"1.{number % 7}.{number % 3}",
        "ok": number % 10 != 0,
    }
    return json.dumps(fields).encode()


def _produce_steadily(port: int, topic: str, seconds: int) -> None:
    value = bytes(Random(3).randrange(256) for _ in range(_VALUE_BYTES))
    producer = _producer(port, "none")
    started = time.monotonic()
    for sent in range(seconds * _RECORDS_PER_S):
        if sent % 1000 == 0:
            time.sleep(max(0.0, started + sent / _RECORDS_PER_S - time.monotonic()))
        _send(producer, topic, value)
    _finish(producer, topic)


def _producer(port: int, codec: str) -> Any:
    from confluent_kafka import Producer

    return Producer(
        {
            "bootstrap.servers": f"{HOST}:{port}",
            "compression.type": codec,
            "linger.ms": 20,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 1_000_000,
            "log_level": 2,
        }
    )


def _send(producer: Any, topic: str, value: bytes) -> None:
    while True:
        try:
            producer.produce(topic, value)
        except BufferError:
            producer.poll(0.01)
        else:
            return


def _finish(producer: Any, topic: str) -> None:
    if producer.flush(TIMEOUT_S):
        raise TimeoutError(f"{topic} did not take all records in {TIMEOUT_S:.0f} s")


BENCHMARK = Benchmark(NAME, "typed columns of history compared with from_json, and the archiver's cost", run)
