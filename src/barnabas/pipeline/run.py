"""`barnabas pipeline run`: runs all flows of a project, up to the current end of the log or until they are stopped.

Everything is checked before anything runs, the cheapest checks first: the version's own files, the broker and its
topics, the tables, then all queries and functions in Spark. Then topics are created and the queries start.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from barnabas.pipeline import spark_session, stop
from barnabas.pipeline.driver import workload
from barnabas.pipeline.driver.backlog import backlogs
from barnabas.pipeline.driver.lock import only_driver, remember_java
from barnabas.pipeline.driver.logic import check_logic, keep_logic
from barnabas.pipeline.driver.parts import chosen_flows, part_for
from barnabas.pipeline.driver.run_outputs import RunOutputs
from barnabas.pipeline.driver.signals import StopSignals
from barnabas.pipeline.driver.topics import check_sources
from barnabas.pipeline.location import FIRST_VERSION
from barnabas.pipeline.log_client import connected
from barnabas.pipeline.project.model import Project
from barnabas.pipeline.replay.pointer_moves import publish_first
from barnabas.pipeline.status import State, Status
from barnabas.spark.defaults import is_local
from barnabas.spark.errors import UserError
from barnabas.spark.launch import HERE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipeline.driver.query import FlowQuery
    from barnabas.pipeline.driver.reading import Begin

_CONF: Final = {
    # A flow with much to do must not keep the others waiting.
    "spark.scheduler.mode": "FAIR",
    "spark.scheduler.allocation.file": Path(__file__).with_name("scheduling.xml").as_uri(),
    # How often an idle query asks for new records. Spark's 10 ms are a busy loop when each question goes to a broker.
    "spark.sql.streaming.pollingDelay": "100ms",
}
_STREAMING: Final = "org.apache.spark.sql.execution.streaming"
_SILENCED: Final = (
    f"{_STREAMING}.runtime.ProcessingTimeExecutor",
    f"{_STREAMING}.state",
)
"""Loggers that only warn: a batch that took longer than its interval is visible in the status."""


def run(
    project: Project,
    *,
    once: bool = False,
    version: str = FIRST_VERSION,
    trace: bool = False,
    accept_changes: bool = False,
    into_existing: bool = False,
    flows: Sequence[str] | None = None,
    begin: "Mapping[str, Begin] | None" = None,
    say: Callable[[str], None] = print,
    show: Callable[[Status], None] = lambda status: None,
    should_stop: Callable[[Status], bool] = lambda status: False,
    spark: "SparkSession | None" = None,
) -> Status:
    """Returns the final status when the run ends; raises UserError if a query failed.

    `flows`: only these. `begin`: by source, where to begin without a checkpoint. `say` is called with messages for
    people, `show` and `should_stop` with the status, about every second. `spark`: a session to use and not to stop.
    """
    chosen = chosen_flows(project, flows)
    part = part_for(project, [flow.name for flow in chosen])
    state = project.state_folder(version)
    with only_driver(state, version), StopSignals(say) as signals:
        stop.clear(state)
        for change in check_logic(project, version, accept_changes=accept_changes):
            say(f"accepted: {change}")
        outputs = RunOutputs(part, chosen, version, into_existing=into_existing)
        with connected(project.log) as cluster:
            check_sources(cluster, part.sources.values())
            outputs.check(cluster)
            is_small = (
                once and is_local(project.spark.master or HERE) and workload.is_small(cluster, part, chosen, version)
            )
        outputs.claim_local_tables()
        conf = {**_CONF, **(spark_session.FOR_FEW_ROWS if is_small else {})}
        with _session(project, spark, conf, say, trace=trace) as session:
            from barnabas.pipeline.driver.queries import QueryPlanner

            signals.listen()
            silence_logs = _keep_logs
            if spark is None:
                remember_java(state, _java_of(session))
                if not trace:
                    silence_logs = _silence_loggers(session)
            say(f"Checking the flows ({', '.join(flow.name for flow in chosen)}) ...")
            planner = QueryPlanner(part, version, session, begin or {}, once, say, silence_logs)
            planned = planner.all(chosen)
            outputs.claim_remote_tables(session, planned.columns)
            with connected(project.log) as cluster:
                for topic in outputs.create(cluster, dead_letters=bool(planned.of_dead_letters)):
                    say(f"Created the topic {topic}")
                publish_first(cluster, project, version, chosen)
            outputs.remove_leftovers()
            keep_logic(project, version)
            queries = [*planned.of_flows, *planned.of_dead_letters]
            say(f"Starting {len(queries)} queries ..." if len(queries) > 1 else "Starting the query ...")
            last = _drive(project, version, session, queries, signals, show, should_stop)
        stop.clear(state)
    _raise_if_failed(last)
    return last


@contextmanager
def _session(
    project: Project,
    given: "SparkSession | None",
    conf: Mapping[str, str],
    say: Callable[[str], None],
    *,
    trace: bool,
) -> "Iterator[SparkSession]":
    """A Spark session for the duration of the run."""
    if given is not None:
        yield given
        return
    say("Starting Spark ...")
    started = spark_session.start(project, trace=trace, conf=conf)
    try:
        yield started
    finally:
        started.stop()


def _java_of(session: "SparkSession") -> int:
    jvm: Any = session._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def _silence_loggers(session: "SparkSession") -> Callable[[], None]:
    """Silence some loggers. The function that is returned silences all of them."""
    jvm: Any = session._jvm
    log4j = jvm.org.apache.logging.log4j
    for name in _SILENCED:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.ERROR)
    return lambda: log4j.core.config.Configurator.setAllLevels("", log4j.Level.OFF)


def _keep_logs() -> None:
    """With a session of the caller, or with --trace, nothing is silenced."""


def _drive(
    project: Project,
    version: str,
    session: "SparkSession",
    queries: "Sequence[FlowQuery]",
    signals: StopSignals,
    show: Callable[[Status], None],
    should_stop: Callable[[Status], bool],
) -> Status:
    from barnabas.pipeline.driver.batch_listener import BatchListener
    from barnabas.pipeline.driver.driver import Driver
    from barnabas.spark import readable_errors, watch

    listener = BatchListener()
    session.streams.addListener(listener)
    try:
        with watch(session) as watched, readable_errors():
            driver = Driver(
                project.name,
                version,
                project.state_folder(version),
                queries,
                listener=listener,
                backlogs=lambda: backlogs(watched.views()),
                signals=signals,
                show=show,
                should_stop=should_stop,
            )
            driver.run()
        return driver.report_final()
    finally:
        session.streams.removeListener(listener)


def _raise_if_failed(last: Status) -> None:
    failed = [flow for flow in last.flows if flow.state is State.FAILED]
    if not failed:
        return
    rest = len(last.flows) - len(failed)
    errors = "\n".join(
        f"  {flow.name}: {(flow.last_error or '').replace(chr(10), chr(10) + '    ')}" for flow in failed
    )
    others = f"; the other {rest} ended without errors" if rest else ""
    raise UserError(
        f"{len(failed)} of {len(last.flows)} queries failed{others}:\n{errors}",
        "correct that and run again: all queries continue where they were, and nothing is lost or duplicated",
    )
