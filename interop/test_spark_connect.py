"""Spark Connect and Spark's declarative pipelines, with our source and sink.

In one file, so that they run one after the other: Spark's server always listens on the same port.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from followed_pages import Followed, reason_not_to_run
from peers import Peers
from pyspark import __version__ as installed
from spark_contents import flush, make_topics, producer_for
from spark_programs import SECONDS_MAX, python_path, run_cases
from spark_records import consume

from barnabas.spark.spark_home import spark_home
from barnabas.testing import Broker

pytestmark = pytest.mark.timeout(SECONDS_MAX)

_RUN = "spark-pipelines run"


def test_all_cases_over_spark_connect(peers: Peers, tmp_path: Path) -> None:
    first = run_cases(tmp_path, [peers.spark_connect], connect=True)
    assert first == {"spark": installed, "session": "pyspark.sql.connect.session"}


def test_a_declarative_pipeline(peers: Peers, broker: Broker, tmp_path: Path, followed: Followed) -> None:
    """The one in the guide, run twice: the second run continues, and nothing is in the sink twice.

    Its table is lost with the catalog of a run, so the next one has to begin it anew, in another warehouse.
    """
    servers = broker.bootstrap_servers
    *files, shell = followed("docs/spark.md")
    for block in files:
        assert block.names_a_file
        (tmp_path / block.names_a_file).parent.mkdir(exist_ok=True)
        text = block.text.replace("localhost:9092", servers).replace("/data", str(tmp_path))
        (tmp_path / block.names_a_file).write_text(text)
    make_topics(servers, {"orders": 2, "bills": 2})
    for run in range(2):
        producer = producer_for(servers)
        for number in range(40):
            producer.produce("orders", b"%d" % (run * 40 + number), key=b"k", partition=number % 2)
        flush(producer)
        warehouse = tmp_path / f"warehouse-{run}"
        in_warehouse = shell.with_other_text({_RUN: f"{_RUN} --conf spark.sql.warehouse.dir={warehouse}"})
        commands = [command for command, _ in in_warehouse.commands if not reason_not_to_run(command)]
        assert f"{warehouse}" in commands[-1]
        ran = subprocess.run(
            ["bash", "-e", "-c", "\n".join(commands)],
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": f"{spark_home() / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
                "PYTHONPATH": python_path(peers.spark_connect),
                "SPARK_HOME": str(spark_home()),
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
        assert pq.read_table([*(warehouse / "pieces").glob("*.parquet")]).num_rows == run * 40 + 40
        shutil.rmtree(tmp_path / "checkpoints" / "_checkpoints" / "spark_catalog")
        bills = Counter(seen.value for seen in consume(servers, ["bills"], committed=True))
        assert bills == Counter(b"pieces: %d" % number for number in range(run * 40 + 40))
