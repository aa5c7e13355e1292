"""How long the README's test takes, from the start of its broker to the end of it, with each of three clients.

`python -m bench.first_test --runs 10` prints the fastest and the median run of each client. Every run is a new Python
process, so that what a broker and a client import for the first time is counted. The clients themselves are imported
before the clock starts, as pytest does it when it collects the test. The package should have its bytecode
(`python -m compileall src`): installed ones do.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from barnabas.testing import Broker

VALUE: Final = b"3 apples"
RUN_SECONDS_MAX: Final = 60

Clocked = Callable[[], float]


def librdkafka() -> float:
    from confluent_kafka import Consumer, Producer

    began = time.perf_counter()
    with Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        producer.produce("orders", VALUE)
        producer.flush()
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap_servers, "group.id": "billing", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["orders"])
        message = consumer.poll(10)
        assert message is not None
        assert message.value() == VALUE
        consumer.close()
    return time.perf_counter() - began


def kafka_python() -> float:
    from kafka import KafkaConsumer, KafkaProducer

    began = time.perf_counter()
    with Broker() as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        producer.send("orders", VALUE)
        producer.flush()
        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=broker.bootstrap_servers,
            group_id="billing",
            auto_offset_reset="earliest",
        )
        assert next(consumer).value == VALUE
        consumer.close()
        producer.close()
    return time.perf_counter() - began


def aiokafka() -> float:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    async def send_and_receive(servers: str) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=servers)
        await producer.start()
        await producer.send_and_wait("orders", VALUE)
        await producer.stop()
        consumer = AIOKafkaConsumer(
            "orders", bootstrap_servers=servers, group_id="billing", auto_offset_reset="earliest"
        )
        await consumer.start()
        assert (await consumer.getone()).value == VALUE
        await consumer.stop()

    began = time.perf_counter()
    with Broker() as broker:
        asyncio.run(send_and_receive(broker.bootstrap_servers))
    return time.perf_counter() - began


CLIENTS: Final[dict[str, Clocked]] = {"librdkafka": librdkafka, "kafka-python": kafka_python, "aiokafka": aiokafka}


def measure(client: str) -> float:
    """Seconds, in a new process."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.first_test", "--client", client],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
        timeout=RUN_SECONDS_MAX,
        check=True,
    )
    return float(ran.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.first_test", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="how often each client runs")
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client is not None:
        print(CLIENTS[options.client]())
        return
    for client in CLIENTS:
        seconds = [measure(client) for _ in range(options.runs)]
        print(f"{client:<12}  fastest {min(seconds):.2f} s  median {statistics.median(seconds):.2f} s")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
