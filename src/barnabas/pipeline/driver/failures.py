"""Why a query has ended, in words, and whether it may help to start it again."""

import re
from dataclasses import dataclass
from typing import Final

from barnabas.client.errors import ClientError
from barnabas.pipeline.project.model import Project
from barnabas.spark.errors import UserError
from barnabas.spark.readable import reason_of

_WAYS_ON: Final = (
    "run the new logic over the history, beside the old: barnabas pipeline replay --as NAME; or go on with the old: "
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

_UNKNOWN: Final = re.compile(r"barnabas\.pipeline\.driver\.failures\.Unclear\b")
_PASSING: Final = re.compile(
    r"barnabas\.client\.(?:errors\.(?:CannotConnect|ConnectionClosed|ClosedOnFirstRequest|RequestTimedOut)"
    r"|producer_errors\.DeliveryTimedOut)\b"
    r"|barnabas\.pipeline\.driver\.failures\.Passing\b"
    r"|ExecutorLostFailure|Python worker (?:exited|failed to connect)|Could not find CoarseGrainedScheduler"
)
"""The broker is away, or a machine is lost: nothing that anybody has to correct in the project."""

_SHORT: Final = 600


@dataclass(frozen=True)
class Failure:
    reason: UserError
    is_passing: bool
    """It may be over in a while, however often it happens."""
    is_known: bool
    """It is a mistake that stays until somebody corrects it; False: nobody can say."""


def judge(error: BaseException, project: Project, query: str) -> Failure:
    text = str(error)
    known = _known(text, project, query)
    if known is not None:
        return Failure(known, is_passing=False, is_known=True)
    if isinstance(error, ClientError) or _PASSING.search(text):
        return Failure(_words(error, project), is_passing=True, is_known=False)
    is_known = reason_of(error) is not None and not _UNKNOWN.search(text)
    return Failure(_words(error, project), is_passing=False, is_known=is_known)


class Passing(UserError):
    """A failure in `foreachBatch` that may be over in a while."""


class Unclear(UserError):
    """A failure in `foreachBatch` of which nobody can say."""


def in_short(error: BaseException, project: Project, query: str) -> UserError:
    """What a function of `foreachBatch` raises instead: Spark looks through the whole text of it with an expression
    that takes a piece of its stack for each letter, and a text of some thousand letters, as Spark's own errors have,
    ends its thread without a word.
    """
    failure = judge(error, project, query)
    kind = Passing if failure.is_passing else UserError if failure.is_known else Unclear
    return kind(failure.reason.message[:_SHORT], failure.reason.hint[:_SHORT])


def _known(text: str, project: Project, query: str) -> UserError | None:
    if _OTHER_QUERY.search(text):
        return UserError(f"the checkpoint of `{query}` was written by another query than this one is now", _WAYS_ON)
    if _TWO_DRIVERS.search(text):
        return UserError(
            f"another Spark writes to the checkpoint of `{query}`", "find it and stop it: barnabas pipeline status"
        )
    if _BROKEN_CHECKPOINT.search(text):
        return UserError(
            f"the checkpoint of `{query}` below {project.folder} is damaged, or part of it was removed",
            "restore it from a backup; or write everything again, beside it: barnabas pipeline replay --as NAME",
        )
    if _NO_MEMORY.search(text):
        return UserError(
            f"Java has too little memory for `{query}`",
            "give it more under `spark: conf:` in pipeline.yaml (spark.driver.memory: 4g), or read less at once "
            "(maxOffsetsPerTrigger in the source's options)",
        )
    return None


def _words(error: BaseException, project: Project) -> UserError:
    from barnabas.pipeline.flow.mistakes import explained

    try:
        return explained(error, project)
    except UserError as told:
        return told
