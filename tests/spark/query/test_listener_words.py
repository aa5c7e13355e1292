"""Why a query has ended, in one line from Spark's message."""

import pytest

from barnabas.spark.query.listener import describe_exception

IN_FOREACH_BATCH = """py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "billing.py", line 51, in refuse
RuntimeError: the till is closed

\tat py4j.Protocol.getReturnValue(Protocol.java:476)
"""  # noqa: E501 # as it comes

OURS = """org.apache.spark.SparkException: [STREAM_FAILED] Query [id = 57f3] terminated with exception:
Traceback (most recent call last):
  File "python_streaming_source_runner.py", line 271, in main
barnabas.spark.query.data_loss.DataLost: Up to 30 records were gone before the query could read them.

  topic   partition
  orders          1
hint: to continue without these records, ...
\tat org.apache.spark.sql.execution.python.streaming
"""


@pytest.mark.parametrize(
    ("exception", "words"),
    [
        (IN_FOREACH_BATCH, "RuntimeError: the till is closed"),
        (OURS, "Up to 30 records were gone before the query could read them."),
        (
            "java.lang.OutOfMemoryError: Java heap space\n\tat A.b(A.java:1)\n",
            "java.lang.OutOfMemoryError: Java heap space",
        ),
        ("", ""),
    ],
)
def test_takes_the_line_that_matters(exception: str, words: str) -> None:
    assert describe_exception(exception) == words
