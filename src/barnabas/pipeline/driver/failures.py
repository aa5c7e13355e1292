"""Why a query failed, in words, and whether a restart may help."""

import re
from dataclasses import dataclass
from typing import Final

from barnabas.client.errors import ClientError
from barnabas.pipeline.project.model import Project
from barnabas.spark.errors import UserError
from barnabas.spark.readable import reason_of

_WAYS_ON: Final = (
    "run the new logic over the history, beside the old: barnabas pipeline replay --as NAME; or continue with the old: "
    "barnabas pipeline run --as-started"
)

_OTHER_QUERY: Final = re.compile(
    r"STATE_STORE_(?:KEY|VALUE)_SCHEMA_NOT_COMPATIBLE|STATEFUL_OPERATOR_NOT_MATCH|STATE_STORE_SCHEMA"
    r"|doesn't match to the schema for existing state"
    r"|sources in the checkpoint offsets and now there are|STREAMING_STATE_|CHECKPOINT_SOURCE_ID"
)
_BROKEN_CHECKPOINT: Final = re.compile(
    r"Malformed log file|log file was malformed|failed to read log file|Incomplete log file|batch \d+ doesn't exist"
    r"|CANNOT_LOAD_STATE_STORE|CANNOT_READ_DELTA_FILE|CANNOT_READ_SNAPSHOT|CANNOT_READ_STREAMING_STATE_FILE",
    re.IGNORECASE,
)
_TWO_DRIVERS: Final = re.compile(r"CONCURRENT_STREAM_LOG_UPDATE|Concurrent update to the log")
_NO_MEMORY: Final = re.compile(r"java\.lang\.OutOfMemoryError")

_UNKNOWN: Final = re.compile(r"barnabas\.pipeline\.driver\.failures\.UnknownFailure\b")
_TRANSIENT: Final = re.compile(
    r"barnabas\.client\.(?:errors\.(?:CannotConnect|ConnectionClosed|ClosedOnFirstRequest|RequestTimedOut)"
    r"|producer_errors\.DeliveryTimedOut)\b"
    r"|barnabas\.pipeline\.driver\.failures\.TransientFailure\b"
    r"|ExecutorLostFailure|Python worker (?:exited|failed to connect)|Could not find CoarseGrainedScheduler"
)
"""The broker is unreachable, or a machine is lost: nothing is wrong with the project."""

_SHORT: Final = 600


@dataclass(frozen=True)
class Failure:
    reason: UserError
    is_transient: bool
    """It goes away by itself, however often it happens."""
    is_permanent: bool
    """It is a mistake that stays until someone corrects it; False: unknown."""


def classify(error: BaseException, project: Project, query: str) -> Failure:
    text = str(error)
    known = _known(text, project, query)
    if known is not None:
        return Failure(known, is_transient=False, is_permanent=True)
    if isinstance(error, ClientError) or _TRANSIENT.search(text):
        return Failure(_describe(error, project), is_transient=True, is_permanent=False)
    is_permanent = reason_of(error) is not None and not _UNKNOWN.search(text)
    return Failure(_describe(error, project), is_transient=False, is_permanent=is_permanent)


class TransientFailure(UserError):
    """A failure in `foreachBatch` that goes away by itself."""


class UnknownFailure(UserError):
    """A failure in `foreachBatch` that may or may not go away."""


def shortened(error: BaseException, project: Project, query: str) -> UserError:
    """The error that a function of `foreachBatch` raises instead, with a short text.

    Spark matches the whole text with a regular expression that uses stack space for every character. The thousands of
    characters of Spark's own errors overflow the stack, and the thread dies silently.
    """
    failure = classify(error, project, query)
    kind = TransientFailure if failure.is_transient else UserError if failure.is_permanent else UnknownFailure
    return kind(failure.reason.message[:_SHORT], failure.reason.hint[:_SHORT])


def _known(text: str, project: Project, query: str) -> UserError | None:
    if _OTHER_QUERY.search(text):
        return UserError(f"the checkpoint of `{query}` was written by a different query", _WAYS_ON)
    if _TWO_DRIVERS.search(text):
        return UserError(
            f"another Spark writes to the checkpoint of `{query}`", "find it and stop it: barnabas pipeline status"
        )
    if _BROKEN_CHECKPOINT.search(text):
        return UserError(
            f"the checkpoint of `{query}` below {project.folder} is damaged, or part of it was removed",
            "restore it from a backup; or write everything again, into new outputs: barnabas pipeline replay --as NAME",
        )
    if _NO_MEMORY.search(text):
        return UserError(
            f"Java has too little memory for `{query}`",
            "give it more under `spark: conf:` in pipeline.yaml (spark.driver.memory: 4g), or read less at once "
            "(maxOffsetsPerTrigger in the source's options)",
        )
    return None


def _describe(error: BaseException, project: Project) -> UserError:
    from barnabas.pipeline.flow.mistakes import explain

    try:
        return explain(error, project)
    except UserError as explained:
        return explained
