"""The sender, and how the proof reads the log, with a broker that is killed while the sender works."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from demo.actors import SenderProcess
from demo.judge import Judge
from demo.plan import TOPIC, Plan
from demo.play import simulation_start_ms

from barnabas.testing import Broker

PLAN = Plan(devices=200, rate=1000, seconds=600, partitions=3)
PATIENCE_S = 60.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


@pytest.mark.clients
@pytest.mark.crash
def test_every_event_is_in_the_log_once_where_the_sender_noted_it(tmp_path: Path) -> None:
    notes = tmp_path / "sent.txt"
    with Broker(process=True) as broker:
        broker.create_topic(TOPIC, PLAN.partitions)
        sender = SenderProcess(PLAN, broker.bootstrap_servers, notes, simulation_start_ms(PLAN))
        try:
            wait_until(lambda: sender.count("acked") > 500)
            broker.kill()
            broker.start()
            before = sender.count("acked")
            wait_until(lambda: sender.count("acked") > before + 500)
            sender.ask_to_finish()
            assert sender.wait() == 0
        finally:
            sender.close()
        judge = Judge(PLAN, broker.bootstrap_servers, tmp_path, notes)
        judge.read_log()
        checks = {check.what: check for check in judge.prove("v1").checks}
    assert checks["log"].holds(), checks["log"]
    assert checks["log"].found > 1000
    assert checks["kinds"].holds(), checks["kinds"]
    assert not checks["history"].holds(), "nothing has been counted"
