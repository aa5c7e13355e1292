"""Captures messages of Apache Kafka's own clients, broker and controller: `python interop/capture.py`.

Kafka's Java clients talk to Kafka's server through proxies, round after round, each in older versions than the one
before (`java/capture`, `capture_proxy`); the broker talks to the controller and to itself through them as well. Where
no client asked in some version, we ask, and keep only the answer. The result is `tests/wire/captured`: a file for each
API, with the bytes of whole requests and responses, which the codec must read and write again.
"""

import base64
import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from capture_proxy import OURS, Kind, Proxy, Recorder
from kafka_server import KafkaServer
from kafka_tools import KafkaTools, java
from peers import Peers

from barnabas.client.errors import ClientError
from barnabas.testing.client import Client
from barnabas.wire.api_table import APIS
from barnabas.wire.codec import message_class

FIXTURES: Final = Path(__file__).parents[1] / "tests" / "wire" / "captured"
ROUNDS: Final = max(api.version_max - api.version_min for api in APIS) + 1
SIZE_MAX: Final = 4096
"""Of one message. Longer ones are not kept."""
SIZE_GOOD: Final = 1500
"""Larger ones are kept only where there are no others."""

# A place that may be committed: the messages about log directories name it.
LOGS: Final = Path("/tmp/kafka-capture")

BETWEEN_SERVERS: Final = {
    52: "vote",
    53: "begin_quorum_epoch",
    54: "end_quorum_epoch",
    56: "alter_partition",
    58: "envelope",
    59: "fetch_snapshot",
    62: "broker_registration",
    63: "broker_heartbeat",
    67: "allocate_producer_ids",
    70: "controller_registration",
    73: "assign_replicas_to_dirs",
    82: "update_raft_voter",
}
"""APIs that clients do not use."""

_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def main() -> int:
    recorder = Recorder()
    peers = Peers()
    proxies = {name: Proxy(recorder) for name in ("PLAINTEXT", "SASL_PLAINTEXT", "CONTROLLER")}
    LOGS.mkdir()  # an error if another capture is running
    try:
        with tempfile.TemporaryDirectory() as home, KafkaTools(peers) as tools:
            server = KafkaServer(
                peers,
                LOGS,
                Path(home),
                properties=properties({name: proxy.address for name, proxy in proxies.items()}),
                listeners=["SASL_PLAINTEXT"],
                plugins=[peers.capture_classes],
            )
            server.format(tools)
            proxies["PLAINTEXT"].start(server.bootstrap_servers)
            proxies["SASL_PLAINTEXT"].start(server.addresses["SASL_PLAINTEXT"])
            proxies["CONTROLLER"].start(server.controller)
            with server:
                run_clients(peers, proxies)
                ask_what_is_missing(recorder, proxies["PLAINTEXT"].address)
    finally:
        shutil.rmtree(LOGS)
        for proxy in proxies.values():
            proxy.close()
    write(recorder)
    return 0


def properties(addresses: dict[str, str]) -> dict[str, str]:
    """Of a broker that advertises the proxies, allows everything, and has what its APIs need."""
    return {
        "advertised.listeners": ",".join(f"{name}://{address}" for name, address in addresses.items()),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "log.dirs": f"{LOGS}/first,{LOGS}/second",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{_PLAIN} user_alice="wonderland";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
        "delegation.token.secret.key": "a-secret-for-tests",
        "metric.reporters": "TelemetryReceiver",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "200",
        "group.share.min.heartbeat.interval.ms": "100",
        "group.share.heartbeat.interval.ms": "200",
    }


def run_clients(peers: Peers, proxies: dict[str, Proxy]) -> None:
    command = java([peers.capture_classes, peers.kafka_jars / "*"], heap_mb=512, log_level="error")
    servers = [proxies["PLAINTEXT"].address, proxies["SASL_PLAINTEXT"].address]
    subprocess.run([*command, "Capture", *servers, str(ROUNDS), f"{LOGS}/second"], check=True)


def ask_what_is_missing(recorder: Recorder, address: str) -> None:
    """With empty requests: the answers are short, and often errors, but they are Kafka's."""
    host, _, port = address.rpartition(":")
    for api in APIS:
        for version in range(api.version_min, api.version_max + 1):
            if recorder.seen.get(Kind(api.key, version, "response")):
                continue
            request = message_class(api.name, "request")()
            if api.name == "produce":
                request = request.replace(acks=-1)  # or there is no answer
            with contextlib.suppress(ClientError, OSError), Client(host, int(port), client_id=OURS) as client:
                client.call(api.name, version, request)


def write(recorder: Recorder) -> None:
    names = {**BETWEEN_SERVERS, **{api.key: api.name for api in APIS}}
    lines: dict[str, list[str]] = {}
    for kind in sorted(recorder.seen, key=lambda kind: (kind.direction, kind.version)):
        for payload in samples(recorder.seen[kind]):
            text = base64.b64encode(payload).decode()
            lines.setdefault(names[kind.api_key], []).append(f"{kind.direction} {kind.version} {text}\n")
    FIXTURES.mkdir(exist_ok=True)
    for stale in FIXTURES.glob("*.txt"):
        stale.unlink()
    for name, of_api in lines.items():
        (FIXTURES / f"{name}.txt").write_text("".join(of_api))


def samples(payloads: set[bytes]) -> list[bytes]:
    """The shortest and the longest, unless that is very long."""
    by_size = sorted((payload for payload in payloads if len(payload) <= SIZE_MAX), key=lambda each: (len(each), each))
    good = [payload for payload in by_size if len(payload) <= SIZE_GOOD] or by_size[:1]
    return list(dict.fromkeys((good[0], good[-1]))) if good else []


if __name__ == "__main__":
    sys.exit(main())
