"""Read, process, write: every record is processed exactly once, however often the broker is killed in between."""

import gc
import logging
from collections import Counter
from collections.abc import Iterator
from threading import Thread

import pytest
from client_confluent import ConfluentKafka
from client_records import Sent
from exactly_once_processors import PROCESSORS, Job, Processor
from transactional_clients import COMMITTED, ConfluentTransactions

from barnabas.testing import Broker

pytestmark = [
    pytest.mark.clients,
    pytest.mark.crash,
    # kafka-python and aiokafka leave sockets that could not connect to the collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

COUNT = 150
KILLS = (2, 6)
"""After how many transactions the broker is killed."""


@pytest.fixture
def own_broker(caplog: pytest.LogCaptureFixture) -> Iterator[Broker]:
    caplog.set_level(logging.CRITICAL, "kafka")  # or what it logs keeps its sockets alive until the end of the session
    with Broker(process=True, properties={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker
    gc.collect()  # now, while their warnings are ignored


@pytest.mark.parametrize("processor", PROCESSORS, ids=lambda each: each.name)
def test_every_record_is_processed_exactly_once(
    own_broker: Broker, processor: Processor, topic: str, group: str
) -> None:
    source, target = topic, f"{topic}-out"
    own_broker.create_topic(source, partitions=2)
    own_broker.create_topic(target)
    values = [b"%d" % number for number in range(COUNT)]
    records = [Sent(number % 2, None, value) for number, value in enumerate(values)]
    ConfluentKafka().write(own_broker.bootstrap_servers, source, records)
    transactions = 0
    restarting: list[Thread] = []

    def kill_and_restart() -> None:
        own_broker.kill()
        own_broker.restart()

    def progress() -> None:
        nonlocal transactions
        transactions += 1
        if transactions in KILLS:
            restarting.append(Thread(target=kill_and_restart))
            restarting[-1].start()

    ends = {0: COUNT // 2, 1: COUNT // 2}
    processor.run(Job(own_broker.bootstrap_servers, source, target, group, ends, progress))
    for thread in restarting:
        thread.join()
    assert len(restarting) == len(KILLS)
    written = ConfluentTransactions().read(own_broker.bootstrap_servers, target, COMMITTED)
    assert Counter(written) == Counter(values)
