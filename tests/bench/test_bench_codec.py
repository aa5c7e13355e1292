"""What `python -m bench.codec` compares is the same message, written in two ways."""

from bench.codec import best_us, fetch_responses, plain_answers, produce_preambles


def joined(written: bytes | list[bytes]) -> bytes:
    return b"".join(written) if isinstance(written, list) else written


def test_both_ways_write_the_same() -> None:
    for pair in (*plain_answers(), *fetch_responses()):
        assert joined(pair.by_hand()) == joined(pair.by_codec()), pair.what


def test_both_ways_find_the_same_records() -> None:
    for pair in produce_preambles():
        _, _, _, start, end = pair.by_hand()
        (topic,) = pair.by_codec().topic_data
        (partition,) = topic.partition_data
        assert len(partition.records) == end - start


def test_time_is_measured() -> None:
    assert best_us(lambda: sum(range(1000))) > 0
