"""`python -m bench.codec`: what the readers and writers by hand earn over those that are compiled from the layouts.

Both start from the same facts and end with the same bytes, or the other way round; making the messages that the codec
needs is part of it. What counts is the CPU time of this process, and the best of several turns, so that other processes
disturb little.
"""

import time
import timeit
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from barnabas.client.connection import request_header
from barnabas.wire.codec import encode_request, encode_response, message_class, request_reader_in_place
from barnabas.wire.errors import ErrorCode
from barnabas.wire.fetch_response import FetchAnswer, FetchedPartition, FetchedTopic, encode_fetch_response
from barnabas.wire.frame import response_prefix
from barnabas.wire.messages import fetch, produce
from barnabas.wire.primitives import compact_string
from barnabas.wire.produce_preamble import find_preamble
from barnabas.wire.produce_response import PlainAnswer
from barnabas.wire.writer import message_writer_in_pieces

TURNS: Final = 15
TURN_S: Final = 0.02
ID: Final = uuid.UUID(int=7)


class Pair(NamedTuple):
    what: str
    by_hand: Callable[[], Any]
    by_codec: Callable[[], Any]


def produce_preambles() -> list[Pair]:
    pairs = []
    for version in (3, 12):
        data = (produce.PartitionProduceData(records=bytes(300)),)
        request = produce.ProduceRequest(acks=-1, topic_data=(produce.TopicProduceData(name="t", partition_data=data),))
        header = request_header("produce", version, 1, "client")
        frame = bytearray(header + encode_request("produce", version, request))
        start = len(header)
        read = request_reader_in_place("produce", version)
        pairs.append(
            Pair(
                f"recognise Produce {version} of one batch",
                partial(find_preamble, frame, 0, len(frame)),
                partial(read, memoryview(frame), start),
            )
        )
    return pairs


def plain_answers() -> list[Pair]:
    plain = PlainAnswer(12, compact_string("topic"), 0)

    def frame() -> bytes:
        partition = produce.PartitionProduceResponse(index=0, base_offset=5, log_start_offset=0)
        topic = produce.TopicProduceResponse(name="topic", partition_responses=(partition,))
        body = encode_response("produce", 12, produce.ProduceResponse(responses=(topic,)))
        return response_prefix(1, len(body), tagged=True) + body

    return [Pair("write the frame of a plain answer to Produce 12", lambda: plain.frame(1, 5, 0), frame)]


def fetch_responses() -> list[Pair]:
    pairs = []
    for version, count, size in ((12, 1, 100), (17, 1, 500_000), (11, 8, 10_000), (18, 100, 0)):
        records = bytes(size)
        write = message_writer_in_pieces(message_class("fetch", "response"), version)

        def by_hand(version: int = version, count: int = count, records: bytes = records) -> list[bytes]:
            partitions = [FetchedPartition(index, 0, 9, 9, 0, None, -1, records) for index in range(count)]
            return encode_fetch_response(FetchAnswer([FetchedTopic("topic", ID, partitions)]), version)

        def by_codec(write: Any = write, count: int = count, records: bytes = records) -> Any:
            partitions = tuple(
                fetch.PartitionData(
                    partition_index=index,
                    error_code=ErrorCode.none,
                    high_watermark=9,
                    last_stable_offset=9,
                    log_start_offset=0,
                    aborted_transactions=None,
                    records=records,
                )
                for index in range(count)
            )
            topic = fetch.FetchableTopicResponse(topic="topic", topic_id=ID, partitions=partitions)
            return write(fetch.FetchResponse(responses=(topic,)))

        pairs.append(Pair(f"write the response of Fetch {version}, {count} x {size:,} bytes", by_hand, by_codec))
    return pairs


def best_us(function: Callable[[], Any]) -> float:
    timer = timeit.Timer(function, timer=time.process_time)
    count = max(1, int(TURN_S / max(timer.timeit(20) / 20, 1e-7)))
    return min(timer.repeat(TURNS, count)) / count * 1e6


def main() -> None:
    makers = (produce_preambles, plain_answers, fetch_responses)
    print(f"{'us per message':58} {'by hand':>9} {'codec':>9} {'earned':>7}")
    for pair in (pair for make in makers for pair in make()):
        by_hand, by_codec = best_us(pair.by_hand), best_us(pair.by_codec)
        print(f"{pair.what:58} {by_hand:9.2f} {by_codec:9.2f} {1 - by_hand / by_codec:7.0%}", flush=True)


if __name__ == "__main__":
    main()
