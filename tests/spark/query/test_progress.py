"""Progress and offsets as Spark shows them."""

from progress_json import QUERY_ID, RUN_ID, progress_json
from pyspark.sql.streaming.listener import QueryProgressEvent, StreamingQueryProgress

from barnabas.spark.query.progress import read_offsets, read_progress


def test_reads_what_the_first_batch_tells() -> None:
    read = read_progress(progress_json(0, {"orders": {"0": 6, "1": 2}, "$from": {"orders": {"0": 0}}}, second=11))
    assert (read.query_id, read.run_id, read.name, read.batch_id) == (QUERY_ID, RUN_ID, "billing", 0)
    assert read.sources[0].start == {}
    assert read.sources[0].end == {("orders", 0): 6, ("orders", 1): 2}
    assert read.sources[0].latest == {("orders", 0): 9}
    assert (read.input_rows, read.batch_duration_ms) == (6, 506)
    assert read.finished_ms == 1794782471854 + 506


def test_reads_what_pyspark_hands_to_a_listener() -> None:
    """PySpark's own class makes the string "None" of a missing offset; its JSON keeps null."""
    import json

    event = QueryProgressEvent(StreamingQueryProgress.fromJson(json.loads(progress_json(3, {"orders": {"0": 6}}))))
    assert read_progress(event.progress.json).sources[0].start == {}


def test_other_sources_have_no_offsets_for_us() -> None:
    read = read_progress(progress_json(0, {"orders": {"0": 6}}).replace('{"orders": {"0": 6}}', "42"))
    assert read.sources[0].end == {}


def test_offsets_come_in_several_forms() -> None:
    wanted = {("orders", 0): 6}
    assert read_offsets({"orders": {"0": 6}, "$ids": {"orders": "an id"}}) == wanted
    assert read_offsets('{"orders":{"0":6},"$from":{"orders":{"0":1}}}') == wanted
    for foreign in (
        None,
        "null",
        "None",
        "",
        7,
        [1],
        '{"logOffset": 3}',
        {"a": "b"},
        {"a": {"b": 1}},
        {"a": {"1": "x"}},
    ):
        assert read_offsets(foreign) == {}, foreign
