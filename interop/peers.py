"""The peers: downloaded once into a cache outside the repository, and built from the sources here.

`BARNABAS_PEERS` names the cache; the default is `~/.cache/barnabas/peers`. Each part has a directory named after the
digest of its inputs, so a changed version or program is downloaded or built again. A peer that is not available is an
error, never a skipped test.

Run as a program, this downloads and builds all of them.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
JAVA_SOURCES: Final = HERE / "java"
POM: Final = JAVA_SOURCES / "pom.xml"
STREAMS_POM: Final = JAVA_SOURCES / "streams" / "pom.xml"
SPARK_CONNECTOR: Final = JAVA_SOURCES / "spark" / "connector.txt"
OTHER_SPARKS: Final = ("4.0.5", "4.1.4", "4.2.1")
"""The newest of each version that we support beside the installed one."""
SPARK_CONNECT: Final = HERE / "spark-connect.txt"


class PeerMissing(Exception):
    pass


class Peers:
    def __init__(self, cache: Path | None = None) -> None:
        named = os.environ.get("BARNABAS_PEERS")
        self._cache = cache or (Path(named) if named else Path.home() / ".cache" / "barnabas" / "peers")

    @cached_property
    def kafka_jars(self) -> Path:
        """Apache Kafka's server and tools."""
        return self._made("kafka", [POM], lambda place: _copy_jars("kafka", place))

    @cached_property
    def client_jars(self) -> Path:
        """The newest kafka-clients and what it needs."""
        return self._made("kafka-clients", [POM], lambda place: _copy_jars("client", place))

    @cached_property
    def tool_runner(self) -> Path:
        source = JAVA_SOURCES / "ToolRunner.java"
        return self._made("tool-runner", [POM, source], lambda place: _compile(self.kafka_jars, [source], place))

    @cached_property
    def java_client(self) -> Path:
        sources = sorted((JAVA_SOURCES / "client").glob("*.java"))
        return self._made("java-client", [POM, *sources], lambda place: _compile(self.client_jars, sources, place))

    @cached_property
    def capture_classes(self) -> Path:
        """Our program that has Kafka's clients say as much as they can."""
        sources = sorted((JAVA_SOURCES / "capture").glob("*.java"))
        return self._made("capture", [POM, *sources], lambda place: _compile(self.kafka_jars, sources, place))

    @cached_property
    def streams_jars(self) -> Path:
        """Kafka Streams and what it needs."""
        return self._made("kafka-streams", [STREAMS_POM], lambda place: _copy_jars(None, place, STREAMS_POM))

    @cached_property
    def word_count(self) -> Path:
        """Our program that uses Kafka Streams."""
        source = STREAMS_POM.parent / "WordCount.java"
        return self._made(
            "word-count", [STREAMS_POM, source], lambda place: _compile(self.streams_jars, [source], place)
        )

    @cached_property
    def spark_connector_jars(self) -> Path:
        """Spark's own Kafka connector: the newest that is published, for `spark.jars`."""
        return self._made("spark-connector", [SPARK_CONNECTOR], lambda place: _copy_one_by_one(SPARK_CONNECTOR, place))

    def pyspark(self, version: str) -> Path:
        """A folder for PYTHONPATH. What pyspark itself needs is the same for all versions, and installed."""
        return self._made(f"pyspark-{version}", [], lambda place: _install_python([f"pyspark=={version}"], place))

    @cached_property
    def spark_connect(self) -> Path:
        """What Spark Connect needs beside pyspark, for PYTHONPATH."""
        packages = SPARK_CONNECT.read_text().split()
        return self._made("spark-connect", [SPARK_CONNECT], lambda place: _install_python(packages, place))

    @cached_property
    def franz_go(self) -> Path:
        """Our program that uses franz-go."""
        home = HERE / "go"
        sources = [home / "go.mod", home / "go.sum", *sorted(home.glob("*.go"))]
        return self._made("franz-go", sources, lambda place: _build_go(home, place)) / "franz"

    @cached_property
    def kafkajs(self) -> Path:
        """Our program that uses KafkaJS, with KafkaJS beside it."""
        home = HERE / "kafkajs"
        sources = sorted([home / "package.json", *home.glob("*.js")])
        return self._made("kafkajs", sources, lambda place: _install_npm(sources, place)) / "client.js"

    def fetch_all(self) -> None:
        names = ("kafka_jars", "tool_runner", "client_jars", "java_client", "word_count", "franz_go", "kafkajs")
        for name in (*names, "spark_connector_jars", "spark_connect"):
            print(getattr(self, name), flush=True)
        for version in OTHER_SPARKS:
            print(self.pyspark(version), flush=True)

    def _made(self, name: str, sources: Sequence[Path], make: Callable[[Path], None]) -> Path:
        digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
        place = self._cache / f"{name}-{digest}"
        self._cache.mkdir(parents=True, exist_ok=True)
        with _locked(self._cache / f".{name}.lock"):
            if not place.exists():
                unfinished = self._cache / f".{name}.part"
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir()
                make(unfinished)
                unfinished.rename(place)
        return place


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Test workers share the cache."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _copy_jars(profile: str | None, place: Path, pom: Path = POM) -> None:
    profiles = ["--activate-profiles", profile] if profile else []
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={place}"]
    _run(["mvn", "--quiet", "--batch-mode", "--file", str(pom), *profiles, *goal])


def _copy_one_by_one(artifacts: Path, place: Path) -> None:
    """Without dependencies: Spark has most of them, and a parent POM names some that cannot be resolved."""
    maven = ["mvn", "--quiet", "--batch-mode"]
    for artifact in artifacts.read_text().split():
        _run([*maven, "dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}"])
        _run([*maven, "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={place}"])


def _compile(jars: Path, sources: Sequence[Path], place: Path) -> None:
    options = [
        "-Xlint:all,-processing,-serial,-path",
        "-Werror",
        "--release",
        "17",
        "-cp",
        f"{jars}/*",
        "-d",
        str(place),
    ]
    _run(["javac", *options, *map(str, sources)])


def _install_python(packages: Sequence[str], place: Path) -> None:
    """Without compiling what nobody imports."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
    _run([*pip, "--target", str(place), *packages])


def _build_go(home: Path, place: Path) -> None:
    _run(["go", "build", "-mod=readonly", "-o", str(place / "franz"), "."], cwd=home)


def _install_npm(sources: Sequence[Path], place: Path) -> None:
    for source in sources:
        shutil.copy(source, place)
    _run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"], cwd=place)


def _run(command: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    if shutil.which(command[0]) is None:
        raise PeerMissing(f"{command[0]} is not installed, and a peer needs it")
    result = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise PeerMissing(f"{' '.join(command)} failed:\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}")


if __name__ == "__main__":
    try:
        Peers().fetch_all()
    except PeerMissing as error:
        sys.exit(f"error: {error}")
