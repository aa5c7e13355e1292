"""The defaults of `session()`, each with the reason for not using Spark's own."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from barnabas.spark import versions

LOOPBACK = "127.0.0.1"

_ALWAYS = {
    # Python workers talk to the JVM over Unix domain sockets: without ports and secrets.
    "spark.python.unix.domain.socket.enabled": "true",
    # Filters on partition, offset and timestamp reach the source, and it reads less.
    "spark.sql.python.filterPushdown.enabled": "true",
    # An Arrow batch goes to a Python worker in one piece. Counted in rows alone (10,000), large values would take the
    # worker's memory; with a limit on bytes, small values still come by the thousand.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    # A port and a web server that programs seldom need; session(ui=True) starts it.
    "spark.ui.enabled": "false",
    # The progress bar would overwrite the output of a program.
    "spark.ui.showConsoleProgress": "false",
}

_DRIVER_JAVA = "spark.driver.extraJavaOptions"
_EXECUTOR_JAVA = "spark.executor.extraJavaOptions"


def settings_for(
    master: str, conf: Mapping[str, str], *, ui: bool, trace: bool, java_options: str = ""
) -> dict[str, str]:
    """The settings of a new session on `master`. `conf` wins.

    `java_options` are for JVMs on this machine.
    """
    settings = dict(_ALWAYS)
    if ui:
        settings["spark.ui.enabled"] = "true"
    if trace:
        settings["spark.sql.pyspark.jvmStacktrace.enabled"] = "true"
    if is_local(master) or LOOPBACK in master or "//localhost" in master:
        # Otherwise Spark resolves the host name, and binds to whatever address that has.
        settings |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
        if java_options and not is_local(master):
            settings[_EXECUTOR_JAVA] = java_options
    if is_local(master):
        # Spark's default starts a process (readlink) for each of the files that a trigger writes to a local disk; this
        # one does not. Both write a file beside and rename it, so a crash leaves the old one or the new.
        settings["spark.sql.streaming.checkpointFileManagerClass"] = versions.checkpoint_manager()
        if conf.get("spark.sql.catalogImplementation") != "hive" and "spark.sql.warehouse.dir" not in conf:
            settings["spark.sql.warehouse.dir"] = _temporary_warehouse()
    settings |= conf
    logging = "" if _has_own_logging() else _logging_option(trace=trace)
    driver_options = " ".join(filter(None, (logging, java_options, conf.get(_DRIVER_JAVA))))
    if driver_options:
        settings[_DRIVER_JAVA] = driver_options
    return settings


def is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _temporary_warehouse() -> str:
    """The catalog of a session without Hive lives in memory; its files would be in the way of the next session."""
    directory = tempfile.mkdtemp(prefix="barnabas-warehouse-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _logging_option(*, trace: bool) -> str:
    name = "log4j2-trace.properties" if trace else "log4j2.properties"
    return f"-Dlog4j2.configurationFile={Path(__file__).with_name(name).as_uri()}"


def _has_own_logging() -> bool:
    """Whether someone configured Spark's logging on this machine: then we leave it alone."""
    places = [os.environ.get("SPARK_CONF_DIR"), os.path.join(os.environ.get("SPARK_HOME", ""), "conf")]
    return any(place and os.path.exists(os.path.join(place, "log4j2.properties")) for place in places)
