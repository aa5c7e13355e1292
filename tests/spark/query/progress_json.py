"""Progress as Spark 4.3 reports it: recorded from a running query, with other offsets."""

import json
from typing import Any

QUERY_ID = "ce4986bf-7dd5-49e6-a6f3-3c6a3114927e"
RUN_ID = "6818ad32-223d-4d27-96b6-f518d7268272"

Shown = dict[str, Any]


def progress_json(
    batch_id: int,
    *ends: Shown,
    second: int = 0,
    run_id: str = RUN_ID,
    query_id: str = QUERY_ID,
    name: str | None = "billing",
    input_rows: int = 6,
    first: Shown | None = None,
) -> str:
    """One source for each of `ends`; `first` is where the batch began, which Spark does not tell of the first one."""
    return json.dumps(
        {
            "id": query_id,
            "runId": run_id,
            "name": name,
            "timestamp": f"2026-11-15T22:41:{second:02}.854Z",
            "batchId": batch_id,
            "batchDuration": 506,
            "numInputRows": input_rows,
            "inputRowsPerSecond": 17.1,
            "processedRowsPerSecond": 17.8,
            "durationMs": {
                "addBatch": 298,
                "commitOffsets": 50,
                "getBatch": 0,
                "latestOffset": 5,
                "queryPlanning": 63,
                "triggerExecution": 506,
                "walCommit": 85,
            },
            "stateOperators": [],
            "sources": [
                {
                    "description": "org.apache.spark.sql.execution.datasources.v2.python."
                    "PythonMicroBatchStreamWithAdmissionControl@749d3c25",
                    "startOffset": first,
                    "endOffset": end,
                    "latestOffset": {"orders": {"0": 9}},
                    "numInputRows": input_rows,
                    "inputRowsPerSecond": 11.4,
                    "processedRowsPerSecond": 11.9,
                }
                for end in ends
            ],
            "sink": {"description": "NoopTable", "numOutputRows": 9},
        }
    )
