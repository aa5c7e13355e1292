"""From the texts that PySpark makes of our errors back to our errors. The texts are those of pyspark 4.3."""

import pickle

import pytest
from pyspark.errors import AnalysisException, PythonException, StreamingQueryException

from barnabas.client.errors import CannotConnect
from barnabas.spark import UserError, explain, readable_errors
from barnabas.spark.readable import WHERE_THE_TRACE_IS, reason_of

TRACEBACK = """Traceback (most recent call last):
  File "/somewhere/barnabas/spark/source/topics.py", line 28, in read
    raise MissingTopic(name)
barnabas.spark.source.topics.MissingTopic: There is no topic ordres on localhost:9092.
It has orders, payments.
hint: did you mean orders?"""

PLANNING = f"""[PYTHON_DATA_SOURCE_ERROR] Failed to create Python data source instance: {TRACEBACK}
 SQLSTATE: 38000"""

TASK = f"""An exception was thrown from the Python worker:
{TRACEBACK}"""

QUERY = f"""[STREAM_FAILED] Query [id = b0fa6c88, runId = 6b26] terminated with exception: {PLANNING} SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = b0fa6c88, runId = 6b26ec28]
Current Committed Offsets: {{}}

Logical Plan:
WriteToMicroBatchDataSource noop-table"""

# Spark's own runner fails on our error here, and must not hide it.
INITIALIZING = f"""[STREAM_FAILED] Query [id = b0fa6c88] terminated with exception: {TRACEBACK}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/somewhere/pyspark/sql/streaming/python_streaming_source_runner.py", line 295, in main
UnboundLocalError: cannot access local variable 'reader' where it is not associated with a value
 SQLSTATE: 38000 SQLSTATE: XXKST"""


@pytest.mark.parametrize(
    "error",
    [
        AnalysisException(PLANNING),
        PythonException(TASK),
        StreamingQueryException(QUERY),
        AnalysisException(INITIALIZING),
    ],
    ids=["planning", "task", "query", "initializing"],
)
def test_our_error_is_found(error: Exception) -> None:
    assert explain(error).splitlines() == [
        "error: There is no topic ordres on localhost:9092.",
        "It has orders, payments.",
        "hint: did you mean orders?",
    ]


def test_the_last_of_a_chain_is_what_ended_it() -> None:
    chained = PythonException(
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        "barnabas.client.errors.CannotConnect: cannot reach b:1; is it running?\n\n"
        "The above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
        "barnabas.spark.errors.UserError: Nobody answers.\nhint: start a broker"
    )
    assert explain(chained) == "error: Nobody answers.\nhint: start a broker"


def test_errors_of_the_client_have_their_next_step_in_their_line() -> None:
    in_spark = PythonException(
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        "barnabas.client.errors.CannotConnect: cannot reach b:1: refused; is the broker running?\n SQLSTATE: 38000"
    )
    expected = "error: cannot reach b:1: refused\nhint: is the broker running?"
    assert explain(in_spark) == expected
    assert explain(CannotConnect("cannot reach b:1: refused", "is the broker running?")) == expected


def test_other_errors_are_left_alone() -> None:
    text = "An exception was thrown from the Python worker:\nTraceback (most recent call last):\nZeroDivisionError: x"
    for error in (PythonException(text), ValueError("barnabas.x: y")):
        assert reason_of(error) is None
        with pytest.raises(type(error)) as caught, readable_errors():
            raise error
        assert caught.value is error
    assert explain(ValueError("no such thing")) == f"error: no such thing\nhint: {WHERE_THE_TRACE_IS}"
    assert "at org.apache" not in explain(AnalysisException("It failed.\n\tat org.apache.spark.X.y(X.scala:1)"))


def test_what_spark_says_about_us_is_translated() -> None:
    missing = AnalysisException("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: barnabas. Make sure that")
    assert "set PYSPARK_PYTHON" in explain(missing).splitlines()[-1]
    nowhere = PythonException('java.io.IOException: Cannot run program "/opt/python3.13": error=2, No such file')
    assert "cannot start the Python /opt/python3.13" in explain(nowhere)
    task = PythonException("An exception was thrown from the Python worker:\nNo module named 'pyarrow'")
    assert "pip install 'barnabas[spark]'" in explain(task).splitlines()[-1]


def test_a_block_raises_the_plain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BARNABAS_TRACE", raising=False)
    with pytest.raises(UserError, match="There is no topic ordres") as plain, readable_errors():
        raise AnalysisException(PLANNING)
    assert plain.value.__suppress_context__
    monkeypatch.setenv("BARNABAS_TRACE", "1")
    with pytest.raises(UserError) as traced, readable_errors():
        raise AnalysisException(PLANNING)
    assert isinstance(traced.value.__cause__, AnalysisException)


def test_errors_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(UserError(" It is broken. ", "mend\n it")))
    assert (error.message, error.hint, str(error)) == ("It is broken.", "mend it", "It is broken.\nhint: mend it")
