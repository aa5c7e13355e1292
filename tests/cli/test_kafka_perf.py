"""The two perf tests print what Kafka's print; the numbers are their own."""

import re
from pathlib import Path

import pytest
from cli_running import Run

from barnabas.cli.kafka.consumer_perf import date_format
from barnabas.cli.kafka.options import UsageError
from barnabas.cli.kafka.producer_stats import percentiles

pytestmark = pytest.mark.clients

NUMBER = r"[\d.]+"
TOTAL = (
    rf" records sent, {NUMBER} records/sec \({NUMBER} MB/sec\), {NUMBER} ms avg latency, {NUMBER} ms max latency, "
    r"\d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\."
)


def test_producing_and_consuming(script: Run, barnabas_topic: str, tmp_path: Path) -> None:
    basics = ("--topic", barnabas_topic, "--throughput", "-1")
    sized = script(
        "kafka-producer-perf-test", *basics, "--num-records", "2000", "--record-size", "100", "--warmup-records", "500"
    )
    warmup, steady, total, steady_total = sized.good().splitlines()
    assert warmup.startswith("Warmup first 500 records.")
    assert steady == "In steady state."
    assert re.fullmatch("2000" + TOTAL, total)
    assert re.fullmatch("1500 steady state" + TOTAL, steady_total)
    numbers = script("kafka-producer-perf-test", *basics, "--num-records", "10", "--payload-monotonic").good()
    assert re.fullmatch("10" + TOTAL, numbers.strip())
    payloads = tmp_path / "payloads"
    payloads.write_text("one;two;three")
    from_file = script(
        "kafka-producer-perf-test",
        *basics,
        "--num-records",
        "5",
        "--payload-file",
        str(payloads),
        "--payload-delimiter",
        ";",
    ).good()
    assert from_file.splitlines()[:2] == [f"Reading payloads from: {payloads}", "Number of records read: 3"]

    header, row = (
        script("kafka-consumer-perf-test", "--topic", barnabas_topic, "--num-records", "2015").good().splitlines()
    )
    assert header.split(", ")[:3] == ["start.time", "end.time", "data.consumed.in.MB"]
    cells = row.split(", ")
    assert len(cells) == len(header.split(", ")) == 10
    assert cells[4] == "2015"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", cells[0])
    detailed = script(
        "kafka-consumer-perf-test", "--topic", barnabas_topic, "--messages", "2015", "--show-detailed-stats",
        "--reporting-interval", "1", "--hide-header",
    )  # fmt: skip
    assert all(len(line.split(", ")) == 10 for line in detailed.good().splitlines())
    assert "--messages is deprecated" in detailed.err
    early = script(
        "kafka-consumer-perf-test", "--topic", barnabas_topic, "--num-records", "1", "--from-latest", "--timeout", "300"
    )
    assert (
        "WARNING: Exiting before consuming the expected number of records: timeout (300 ms) exceeded." in early.good()
    )


def test_a_throughput_is_kept(script: Run, barnabas_topic: str) -> None:
    arguments = ("--topic", barnabas_topic, "--num-records", "100", "--record-size", "10", "--throughput", "500")
    total = script("kafka-producer-perf-test", *arguments).good()
    rate = float(re.findall(r"sent, ([\d.]+) records/sec", total)[0])
    assert rate < 550


@pytest.mark.parametrize(
    "arguments",
    [
        ["--topic", "t", "--num-records", "1", "--throughput", "-1"],
        ["--topic", "t", "--num-records", "1", "--throughput", "-1", "--record-size", "1", "--payload-monotonic"],
        ["--topic", "t", "--num-records", "0", "--throughput", "-1", "--record-size", "1"],
        ["--topic", "t", "--throughput", "-1", "--record-size", "1"],
        ["--topic", "t", "--num-records", "1", "--throughput", "-1", "--record-size", "1", "--warmup-records", "1"],
        ["--topic", "t", "--num-records", "1", "--throughput", "-1", "--record-size", "1"],
    ],
)
def test_what_cannot_be_measured(barnabas: Run, arguments: list[str]) -> None:
    failed = barnabas("kafka-producer-perf-test", *arguments)
    assert failed.status == 1
    assert "hint: " in failed.err


def test_percentiles() -> None:
    assert percentiles([]) == [0, 0, 0, 0]
    assert percentiles([5]) == [5, 5, 5, 5]
    assert percentiles(list(range(1000))) == [500, 950, 990, 999]


def test_dates_as_java_writes_them() -> None:
    assert re.fullmatch(r"20\d\d T 25", date_format("yyyy 'T' yy")(1_769_860_800_250 - 86_400_000 * 60))
    assert date_format("SSS")(1_769_860_800_250) == "250"
    with pytest.raises(UsageError):
        date_format("EEEE")


def test_producing_in_transactions(script: Run, barnabas_topic: str) -> None:
    basics = ("--topic", barnabas_topic, "--throughput", "-1", "--num-records", "300", "--payload-monotonic")
    for how in (
        ("--transaction-duration-ms", "1"),
        ("--transactional-id", barnabas_topic),
        ("--command-property", f"transactional.id={barnabas_topic}"),
    ):
        assert re.fullmatch("300" + TOTAL, script("kafka-producer-perf-test", *basics, *how).good().strip())
    read = (
        "--topic",
        barnabas_topic,
        "--from-beginning",
        "--isolation-level",
        "read_committed",
        "--timeout-ms",
        "2000",
    )
    lines = script("kafka-console-consumer", *read).out.splitlines()
    assert lines == [str(number) for number in range(300)] * 3
    refused = script("kafka-producer-perf-test", *basics, "--transaction-duration-ms", "0")
    assert refused.status != 0
    assert "--transaction-duration-ms should be greater than zero" in refused.err
