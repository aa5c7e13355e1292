"""Spark Connect and Spark's declarative pipelines, with our source and sink.

In one file, so that they run one after the other: Spark's server always listens on the same port.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from peers import Peers
from pyspark import __version__ as installed
from spark_contents import flush, make_topics, producer_for
from spark_programs import SECONDS_MAX, python_path, run_cases
from spark_records import consume

from barnabas.spark.spark_home import spark_home
from barnabas.testing import Broker

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "spark.md"
_FILE = re.compile(r"^```(?:yaml|py)\n(# (\S+)\n.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.timeout(SECONDS_MAX)


def test_all_cases_over_spark_connect(peers: Peers, tmp_path: Path) -> None:
    first = run_cases(tmp_path, [peers.spark_connect], connect=True)
    assert first == {"spark": installed, "session": "pyspark.sql.connect.session"}


def test_a_declarative_pipeline(peers: Peers, broker: Broker, tmp_path: Path) -> None:
    """The one in the guide, run twice: the second run continues, and nothing is in the sink twice.

    Its table is lost with the catalog of a run, so the next one has to begin it anew, in another warehouse.
    """
    servers = broker.bootstrap_servers
    section = GUIDE.read_text().partition("\n## Declarative pipelines\n")[2].partition("\n## ")[0]
    files = _FILE.findall(section)
    assert len(files) == 2
    for text, name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("localhost:9092", servers).replace("/data", str(tmp_path)))
    make_topics(servers, {"orders": 2, "bills": 2})
    for run in range(2):
        producer = producer_for(servers)
        for number in range(40):
            producer.produce("orders", b"%d" % (run * 40 + number), key=b"k", partition=number % 2)
        flush(producer)
        warehouse = tmp_path / f"warehouse-{run}"
        ran = subprocess.run(
            [spark_home() / "bin" / "spark-pipelines", "run", "--conf", f"spark.sql.warehouse.dir={warehouse}"],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYSPARK_PYTHON": sys.executable,
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
