"""Creates a Spark session with good defaults.

    from barnabas.spark import session

    spark = session()

Spark's start script looks for Java, and its workers look for Python, each in its own way. Here both are set before
Spark starts: a suitable Java, and the interpreter of this program.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.spark import class_archive, versions
from barnabas.spark.defaults import LOOPBACK, is_local, settings_for
from barnabas.spark.errors import TRACE_VARIABLE, UserError, wants_trace
from barnabas.spark.java import Java, find_java
from barnabas.spark.java_home import java_home
from barnabas.spark.readable import install
from barnabas.spark.spark_home import spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = "local[*]"
_STANDALONE = "spark://"
INSTALL = "run pip install 'barnabas[spark]'"


class MissingPackage(UserError):
    """The extra for Spark is not installed."""


def session(
    app_name: str = "barnabas",
    master: str | None = None,
    *,
    ui: bool = False,
    trace: bool | None = None,
    **conf: object,
) -> "SparkSession":
    """A Spark session: a new one, or the running one.

    `master` is any that Spark knows; a new session without one runs on this machine, on all its cores (`local[*]`).
    `conf` has Spark's own names (`**{"spark.driver.memory": "4g"}`) and wins over everything that is set here.
    `ui`: with Spark's web interface on port 4040. `trace`: show full traces of errors, as with BARNABAS_TRACE=1.
    """
    if trace is not None:
        os.environ[TRACE_VARIABLE] = "1" if trace else "0"
    install()
    _check_packages()
    wanted = {name: _text(value) for name, value in conf.items()}
    running = _running()
    return _join(running, master, wanted) if running else _start(app_name, master or HERE, wanted, ui=ui)


def _start(app_name: str, master: str, conf: dict[str, str], *, ui: bool) -> "SparkSession":
    from pyspark.sql import SparkSession

    # Spark's scripts, the JVM and its Python workers read these from the environment.
    java = find_java()
    python = conf.get("spark.pyspark.python", sys.executable)
    if is_local(master) or "spark.pyspark.python" in conf:
        os.environ["PYSPARK_PYTHON"] = python
    else:
        # The machines of a cluster may have Python elsewhere, so a value that is set is kept.
        os.environ.setdefault("PYSPARK_PYTHON", python)
    os.environ["PYSPARK_DRIVER_PYTHON"] = conf.get("spark.pyspark.driver.python", sys.executable)
    archived = class_archive.java_options(java, given=conf.get("spark.driver.extraJavaOptions", ""))
    settings = settings_for(master, conf, ui=ui, trace=wants_trace(), java_options=archived)
    if settings.get("spark.driver.host") == LOOPBACK:
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _homes(master, java):
        return builder.getOrCreate()


@contextmanager
def _homes(master: str, java: Java) -> Iterator[None]:
    """Set JAVA_HOME and SPARK_HOME, but only while Spark starts: this program may start others.

    SPARK_HOME is ours unless it is set already. Clusters of other kinds send its contents to their machines.
    """
    wanted = {"JAVA_HOME": str(java_home(java))}
    if "SPARK_HOME" not in os.environ and (is_local(master) or master.startswith(_STANDALONE)):
        wanted["SPARK_HOME"] = str(spark_home())
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def activate(spark: "SparkSession") -> None:
    """Make this the active session of this thread: without one, Spark does not find sinks in Python.

    Each Python thread has its own JVM thread, and only the thread that created the session has it active.
    """
    jvm: Any = spark._jvm
    spark._get_j_spark_session_class(jvm).setActiveSession(spark._jsparkSession)


def _join(running: "SparkSession", master: str | None, conf: dict[str, str]) -> "SparkSession":
    """Use the running session: change the settings that can be changed, and warn about the others."""
    activate(running)
    kept: list[str] = []
    if master is not None and running.sparkContext.master != master:
        kept.append(f"master {running.sparkContext.master}, not {master}")
    for name, value in conf.items():
        current = running.conf.get(name, None)
        if current == value:
            continue
        if running.conf.isModifiable(name):
            running.conf.set(name, value)
        else:
            kept.append(f"{name} {'unset' if current is None else current}, not {value}")
    if kept:
        warnings.warn(
            f"A Spark session is running already and is used as it is, with {'; '.join(kept)}. "
            "Call stop() on it first to get one with these settings.",
            stacklevel=3,
        )
    return running


def _running() -> "SparkSession | None":
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:  # there is no public way to check without creating one
        return None
    return SparkSession.builder.getOrCreate()


def _check_packages() -> None:
    for package in ("pyspark", "pyarrow", "numpy"):
        try:
            __import__(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            raise MissingPackage(f"Spark needs the package {package}, and it is not installed.", INSTALL) from None
    versions.check()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
