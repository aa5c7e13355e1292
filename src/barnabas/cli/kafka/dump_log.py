"""`barnabas kafka-dump-log`: Kafka's DumpLogSegments. Works on files; no broker is needed."""

import argparse
import os
import re
import sys
from collections.abc import Sequence

from barnabas.cli.kafka.dump_decoders import (
    DECODER_NAMES,
    Parse,
    is_decoder,
    parse_group_record,
    parse_metadata_record,
    parse_share_state_record,
    parse_transaction_record,
    plain_parser,
)
from barnabas.cli.kafka.dump_index import (
    IndexProblems,
    dump_offset_index,
    dump_producer_snapshot,
    dump_time_index,
    dump_txn_index,
)
from barnabas.cli.kafka.dump_segment import SegmentDump, dump_segment
from barnabas.cli.kafka.options import ScriptParser

_INT_MAX = 2**31 - 1
_DEFAULT_DECODER = "StringDecoder"
_PARSERS: dict[str, Parse] = {
    "offsets_decoder": parse_group_record,
    "transaction_log_decoder": parse_transaction_record,
    "share_group_state_decoder": parse_share_state_record,
    "cluster_metadata_decoder": parse_metadata_record,
}
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def parser() -> ScriptParser:
    found = ScriptParser("kafka-dump-log", "Print segment, index and snapshot files; needs no broker.")
    found.value("--files", "the files, separated by commas", metavar="FILE,...")
    found.switch("--print-data-log", "show keys and values")
    found.switch("--deep-iteration", "show each record, not only batches")
    found.switch("--skip-record-metadata", "show only keys and values")
    found.switch("--offsets-decoder", "read values as those of __consumer_offsets")
    found.switch("--transaction-log-decoder", "read values as those of __transaction_state")
    found.switch("--share-group-state-decoder", "read values as those of __share_group_state")
    found.switch("--cluster-metadata-decoder", "read values as those of __cluster_metadata")
    for what in ("key", "value"):
        found.optional_value(
            f"--{what}-decoder-class",
            f"how to read {what}s: {', '.join(DECODER_NAMES)}",
            metavar="CLASS",
            without=_DEFAULT_DECODER,
        )
    found.switch("--index-sanity-check", "only check indexes as a broker does when it starts")
    found.switch("--verify-index-only", "check indexes without showing them")
    found.value("--max-bytes", "stop after this many bytes of batches", metavar="BYTES", type=int, default=_INT_MAX)
    found.value("--max-message-size", "accepted; batches of any size are read", metavar="BYTES", type=int)
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--files")
    how = _how(reader, options)
    problems = IndexProblems.none()
    gaps: dict[str, list[tuple[int, int]]] = {}
    for path in (path.strip() for path in options.files.split(",")):
        print(f"Dumping {path}")
        if path.endswith((".log", ".checkpoint")):
            print(_headline(path))
            if found := dump_segment(path, how):
                gaps[os.path.abspath(path)] = found
        else:
            _dump_other(path, problems, options)
    sys.stdout.flush()
    problems.print()
    for path, pairs in gaps.items():
        lines = [f"  {first} is followed by {second}" for first, second in pairs]
        print("\n".join([f"Non-consecutive offsets in {path}", *lines]), file=sys.stderr)
    return 0


def _dump_other(path: str, problems: IndexProblems, options: argparse.Namespace) -> None:
    how = {"sanity_only": options.index_sanity_check, "verify_only": options.verify_index_only}
    match os.path.splitext(path)[1]:
        case ".index":
            dump_offset_index(path, problems, **how)
        case ".timeindex":
            dump_time_index(path, problems, **how)
        case ".txnindex":
            dump_txn_index(path)
        case ".snapshot":
            dump_producer_snapshot(path)
        case _:
            print(f"Ignoring unknown file {path}", file=sys.stderr)


def _how(reader: ScriptParser, options: argparse.Namespace) -> SegmentDump:
    decoders = [getattr(options, name) for name in _PARSERS]
    classes = (options.key_decoder_class, options.value_decoder_class)
    if sum(decoders) > 1:
        reader.error(f"{', '.join('--' + name.replace('_', '-') for name in _PARSERS)} cannot be combined")
    for name in classes:
        if name is not None and not is_decoder(name):
            reader.error(f"{name} is refused: Java classes cannot be loaded here; there are {', '.join(DECODER_NAMES)}")
    print_data = options.print_data_log or any(decoders) or any(name is not None for name in classes)
    return SegmentDump(
        deep=options.deep_iteration or print_data,
        print_data=print_data,
        skip_record_metadata=options.skip_record_metadata,
        parse=_parser(options, *(name or _DEFAULT_DECODER for name in classes)),
        max_bytes=options.max_bytes,
    )


def _parser(options: argparse.Namespace, key_decoder: str, value_decoder: str) -> Parse:
    for name, parse in _PARSERS.items():
        if getattr(options, name):
            return parse
    return plain_parser(key_decoder, value_decoder)


def _headline(path: str) -> str:
    name = os.path.basename(path)
    if name == "bootstrap.checkpoint":
        return "KRaft bootstrap snapshot"
    if found := _SNAPSHOT.fullmatch(name):
        return f"Snapshot end offset: {int(found[1])}, epoch: {int(found[2])}"
    return f"Log starting offset: {int(name.partition('.')[0]) if name.partition('.')[0].isdecimal() else 0}"
