"""The data source with kills at named steps: `format("barnabas-killed")`.

    killAt      a step of the protocol (`barnabas.spark.sink.exactly_once.steps`)
    killWhat    a process id; `self`, the process that reaches the step; or `driver`, for the driver's program, its
                JVM and the process that reaches the step
    killOnce    a file that is created at the kill; if it exists, nothing is killed
    stepsTo     a file to which the steps are appended, with the attempt that reached them

Separate several kills with `;`.
"""

import dataclasses
import os
import signal
import time
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql.datasource import DataSourceStreamWriter, DataSourceWriter

from barnabas.spark.data_source import BarnabasDataSource
from barnabas.spark.sink.exactly_once import ExactlyOnce
from barnabas.spark.sink.writing import Writing

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

Writer = TypeVar("Writer", DataSourceWriter, DataSourceStreamWriter)

OPTIONS = ("killAt", "killWhat", "killOnce", "stepsTo")


@dataclasses.dataclass(frozen=True)
class Kill:
    step: str
    what: str
    once: str

    def passed(self, step: str) -> None:
        if step != self.step:
            return
        try:
            os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        if self.what == "driver":
            # It was started in its own session, as the leader of session and process group.
            os.killpg(os.getsid(0), signal.SIGKILL)
        os.kill(os.getpid() if self.what in ("self", "driver") else int(self.what), signal.SIGKILL)


@dataclasses.dataclass(frozen=True)
class KillingHook:
    kills: tuple[Kill, ...]
    steps_to: str | None

    def __call__(self, step: str) -> None:
        if self.steps_to is not None:
            with open(self.steps_to, "a") as steps:
                steps.write(f"{time.time():.3f} {os.getpid()} {_attempt()} {step}\n")
        for kill in self.kills:
            kill.passed(step)


def _attempt() -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    return "driver" if context is None else f"{context.partitionId()}/{context.attemptNumber()}"


class KilledDataSource(BarnabasDataSource):
    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        kills = zip(*(self.options.pop(name, "").split(";") for name in OPTIONS[:3]), strict=True)
        self._hook = KillingHook(
            tuple(Kill(step, what, once) for step, what, once in kills if step),
            self.options.pop("stepsTo", None),
        )

    @classmethod
    def name(cls) -> str:
        return "barnabas-killed"

    def writer(self, schema: "StructType", overwrite: bool) -> DataSourceWriter:
        return self._hooked(super().writer(schema, overwrite))

    def streamWriter(self, schema: "StructType", overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802, Spark's name
        return self._hooked(super().streamWriter(schema, overwrite))

    def _hooked(self, writer: Writer) -> Writer:
        writing: Writing = writer.writing  # type: ignore[attr-defined]  # our own writers
        if isinstance(writing.delivery, ExactlyOnce):
            writing.delivery = dataclasses.replace(writing.delivery, hook=self._hook)
        return writer
