"""What the benchmark reads from the output of Kafka's own performance tools, and how it holds the servers against each
other. The tools themselves run in `python -m bench java-clients`."""

from pathlib import Path

import pytest
from bench.benchmarks.java_clients import CASES
from bench.load.java_clients import fetch_rate, steady_rate
from bench.other_load import OtherLoad
from bench.results import Better, Measure
from bench.sizes import QUICK
from bench.sockets import Refused
from bench.stage import Stage

PRODUCER = """\
Warmup first 500 records. Steady state results will print after the complete test summary.
1200 records sent, 240.0 records/sec (0.02 MB/sec), 310.4 ms avg latency, 2407.0 ms max latency.
2000 records sent, 703.729768 records/sec (0.07 MB/sec), 277.10 ms avg latency, 2407.00 ms max latency, 292 ms 50th.
1500 steady state records sent, 2252.252252 records/sec (0.21 MB/sec), 235.65 ms avg latency, 419.00 ms max latency.

"""
CONSUMER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, "
    "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n"
    "2026-11-17 03:56:50:976, 2026-11-17 03:56:58:850, 0.1907, 0.0242, 2000, 254.0005, 6604, 1270, 0.1502, 1574.8031\n"
)


def test_the_producers_rate_is_without_its_warm_up() -> None:
    assert steady_rate(PRODUCER, 1500) == 2252.252252
    with pytest.raises(Refused, match="sent 1500 of 1600"):
        steady_rate(PRODUCER, 1600)


def test_the_consumers_rate_is_without_its_rebalance() -> None:
    assert fetch_rate(CONSUMER, 2000) == 1574.8031
    with pytest.raises(Refused, match="got 2000 of 2001"):
        fetch_rate(CONSUMER, 2001)


def test_there_is_a_row_for_each_client_size_and_codec() -> None:
    assert [case.title for case in CASES[3:6]] == [
        "Java producer, 1 KB, lz4",
        "Java consumer, 100 B, none",
        "Java consumer, 100 B, lz4",
    ]
    assert [[measure.target for measure in case.measures] for case in CASES] == [[1.0, None]] * 8


def test_progress_shows_how_far_the_turns_differ(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stage = Stage(QUICK, ["barnabas", "kafka"], tmp_path, kinds=["java producer*"])
    rate = Measure("java-clients", "rate", "k/s", Better.MORE, 1.0)
    for ours, theirs in ((10, 10), (9, 10), (30, 20)):
        stage.results.add(rate, "barnabas", ours)
        stage.results.add(rate, "kafka", theirs)
    stage.log_result(rate)
    assert "rate: barnabas 10, kafka 10 k/s; ratio 1.00 (0.90 to 1.50)" in capsys.readouterr().err
    assert [case.client for case in CASES if stage.is_wanted(case.title)] == ["producer"] * 4


def test_the_load_of_other_processes_is_what_we_did_not_use() -> None:
    load = OtherLoad(4, iter((100.0, 104.0)).__next__, iter((0.0, 2.0)).__next__)
    with load.watching() as ours:
        ours.append(2.0)
    assert str(load) == "other processes used 25% of the cores during a turn (median), 25% at most"
