"""Names and phrases that were replaced by plain ones do not come back.

`NAMES` are identifiers: classes, functions, arguments, attributes and modules in Python, and code in Markdown.
`PHRASES` are words in a row, anywhere: in docstrings, comments, messages and pages. They are also found where a line
ends between them, and {} stands for a value in a message. Each entry says what to write instead. When you replace a
name or a phrase that others may write again, add it here.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "bench", "demo", "fuzz", "interop", "tools", "docs")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")

NAMES = {
    "_admit_carefully": "_admit_any_batch",
    "agree_at": "epoch_matches_batch",
    "agree_at_the_end": "epochs_match_last_segment",
    "Alone": "WaitingAnswer",
    "answer_in_turns": "answer_in_slices",
    "_as_the_topic_wants": "_apply_topic_settings",
    "AskedPartition": "RequestedPartition",
    "AskedTopic": "RequestedTopic",
    "Beats": "Latencies",
    "begin_stop": "request_stop",
    "Board": "StatusServer",
    "bounding_offset": "upper_bound_offset",
    "CatchingUp": "CatchUpReport",
    "ClassicFacts": "ClassicMemberState",
    "collect_the_young_only": "disable_full_collections",
    "Contact": "ClusterConnection",
    "_converse": "_talk_to",
    "cut_torn_tail": "truncate_torn_write",
    "dawdle": "consume_slowly",
    "Dirtiness": "LogToClean",
    "_do_as_told": "_run_the_advice",
    "end_when_closed": "end_offset_at_close",
    "fate_of": "outcome_of",
    "first_twice": "first_duplicate",
    "for_people": "to_user_error",
    "forget_states": "delete_states",
    "go_on_in": "switch_log",
    "goodbye": "end_session: what the callback does",
    "_greet": "_connect",
    "hand_out_assignments": "set_assignments",
    "Handed": "Acquisition",
    "hang_up": "close",
    "hang_ups": "disconnects",
    "hold_max_ms": "blocked_max_ms",
    "hung_up": "disconnected",
    "HungUp": "ClosedOnFirstRequest",
    "_hurrying": "_within_deadline",
    "hush": "silence_disconnects",
    "in_words": "describe_exception",
    "is_anew": "is_new_partition",
    "is_needless_marker": "is_obsolete_marker",
    "is_news": "must_be_sent",
    "is_passing": "is_transient",
    "is_remade": "is_another_topic",
    "KINDNESSES": "LIBRDKAFKA_NAMES",
    "knock": "check_reachable",
    "Lane": "PartitionQueue",
    "Listening": "BatchListener",
    "LookedUp": "TopicLookup",
    "may_be_cut": "may_be_truncated",
    "_may_help_to_start_again": "_should_restart",
    "MemberIdHandedOut": "MemberIdAssigned",
    "mend_transaction_index": "rebuild_transaction_index",
    "NamesTopic": "TopicReference",
    "noted_aborts": "indexed_aborts",
    "obey": "apply, or run",
    "_obey": "_apply_stop_requests",
    "offset_behind": "next_readable_offset",
    "pack_place_into": "pack_offset_and_epoch_into",
    "Passing": "TransientFailure",
    "Patience": "RetryPolicy, or Deadline",
    "_patient": "_retry_policy",
    "patiently": "with_retries",
    "Placed": "BatchPlacement",
    "pointed": "pointer_reader, or the flow",
    "Pointed": "PipelineFlow",
    "produce_lane": "produce_fast_path",
    "ProduceLane": "ProduceFastPath",
    "read_on": "replay_until",
    "REMADE": "RECREATED",
    "_says_nothing": "_ignore",
    "_see_whether_it_works": "_update_activity",
    "settle_duplicate": "resolve_duplicate",
    "share_acknowledging": "share_acknowledgements",
    "SharedPartition": "TopicIdPartition, which is not easily confused with SharePartition",
    "sound_headers": "valid_headers",
    "spending": "with_mutation_quota",
    "stop_at_what_is_there": "stop_at_current_end",
    "Surroundings": "CoordinatorDependencies",
    "_take_in_many": "_replay_large",
    "takes_batches_as_they_are": "appends_batches_unchanged",
    "_tell_in_parts": "_notify_in_parts",
    "tell_last": "report_final",
    "_telling": "_translating_errors",
    "told": "reported, message, answer, or what it is",
    "_told": "reported, last_report, or what it is",
    "Told": "OffsetsJson",
    "_told_configs": "_described_configs",
    "told_ms": "requested_throttle_ms",
    "TooManyTooSoon": "ConnectionRateExceeded",
    "TransactionsMet": "TransactionTracker",
    "Turns": "TimeSlices",
    "Unclear": "UnknownFailure",
    "undescribed": "describe_error",
    "_unsuspicious_bytes": "_quick_check",
    "waits_for_us": "has_parked_request",
    "when_it_comes": "retry_until_present",
    "zstd_is_known": "zstd_allowed",
}

PHRASES = {
    "a otherwise": "an outcome (the key is `otherwise`)",
    "after the batches at hand": "after the current batches",
    "broken {} times": "a number with its noun: 1 row, 2 rows",
    "by its own account": "as it reports",
    "by which the client leaves records out": "so that the client can filter",
    "compared as wholes": "whole rows compared",
    "fast lane": "fast path",
    "for who needs": "for callers that need",
    "general way": "general path",
    "gives way": "is evicted, or yields",
    "goes on where it was": "continues where it was",
    "hint: try": "hint: run ..., write ..., give ...",
    "hint: try:": "hint: with a sentence",
    "hold of the loop": "event loop blocked",
    "how-maniest": "n-th",
    "in good order": "cleanly",
    "is gone since": "has been unreachable for",
    "is no address": "is not an address",
    "is no number": "is not a number",
    "is not a {} that exists": "there is no ...",
    "is the next that can": "the next readable offset is",
    "is to be told": "is reported",
    "its own doing": "caused by it",
    "lies beside `tests`": "is next to `tests`",
    "lost or doubled": "lost or duplicated",
    "no multiple of": "not a multiple of",
    "nobody has to say who they are": "clients do not log in",
    "readers: see it": "CURRENT",
    "rows at rest": "static rows, or a batch",
    "soft state": "in-memory state",
    "those who read committed records": "read_committed consumers",
    "told in one place": "reported in one place",
    "what is told is told once": "reported once",
    "what it was told": "what it got",
    "what we want of it": "the target",
    "where to?": "where to reset the offsets",
    "who got bytes": "a partition that returned records",
    "who is how far": "how far each has read",
    "who reads committed records": "read_committed consumers",
    "who wants to move": "to move ...,",
    "with what was told last": "the final status",
}


@cache
def _files() -> tuple[Path, ...]:
    found = [ROOT / page for page in PAGES]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md")]
    return tuple(sorted(path for path in found if path != Path(__file__).resolve()))


def _names_in_python(source: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, line
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name, line
            case ast.keyword(arg=str(name)):
                yield name, line
            case ast.ImportFrom(module=str(name)):
                yield from ((part, line) for part in name.split("."))
            case ast.alias(name=name, asname=asname):
                yield from ((part, line) for part in (*name.split("."), asname) if part)


def _names_in_markdown(source: str) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(source.splitlines(), 1):
        for code in re.findall(r"`([^`]+)`", line):
            yield from ((name, number) for name in re.findall(r"\w+", code))


def given_up_names(source: str, suffix: str) -> list[str]:
    names = _names_in_python(source) if suffix == ".py" else _names_in_markdown(source)
    return [f"{line}: {name}: say {NAMES[name]}" for name, line in names if name in NAMES]


def _as_prose(source: str) -> str:
    """One line: wrapped text is joined, messages in several literals are too, and each value in a message is {}."""
    joined = re.sub(r'"\s*\n\s*f?"', "", source)
    joined = re.sub(r"\s*\n\s*(?:#\s*)?", " ", joined)
    return re.sub(r"\{[^{}]*\}", "{}", joined)


_PHRASE = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, PHRASES))})(?!\w)")


def given_up_phrases(source: str) -> list[str]:
    found = (match.group() for match in _PHRASE.finditer(_as_prose(source).lower()))
    return [f"{phrase}: say {PHRASES[phrase]}" for phrase in found]


def test_given_up_names_stay_given_up() -> None:
    found = [f"{path.relative_to(ROOT)}: say {NAMES[path.stem]}" for path in _files() if path.stem in NAMES]
    for path in _files():
        found += [f"{path.relative_to(ROOT)}:{each}" for each in given_up_names(path.read_text(), path.suffix)]
    assert not found, "\n".join(found)


def test_given_up_phrases_stay_given_up() -> None:
    found = []
    for path in _files():
        found += [f"{path.relative_to(ROOT)}: {each}" for each in given_up_phrases(path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "suffix"),
    [
        ("class Beats:\n    pass", ".py"),
        ("def f(is_news):\n    pass", ".py"),
        ("f(is_news=True)", ".py"),
        ("def f():\n    return self.dawdle()", ".py"),
        ("from barnabas.handlers.produce_lane import a", ".py"),
        ("import a as goodbye", ".py"),
        ("See [`ProduceLane.answer`](x.py).", ".md"),
    ],
)
def test_a_name_is_found_wherever_it_is_used(source: str, suffix: str) -> None:
    assert len(given_up_names(source, suffix)) == 1


def test_words_of_prose_are_not_names() -> None:
    assert given_up_names('"""The drum beats; say goodbye."""', ".py") == []
    assert given_up_names("Beats and goodbye", ".md") == []


@pytest.mark.parametrize(
    "source",
    [
        "It is GONE since 3 s.",
        "The broker is gone\nsince then.",
        "    # it is gone\n    # since then",
        'f"{name} is gone "\n    f"since {seconds} s"',
        'f"the rule was broken {count} times"',
    ],
)
def test_a_phrase_is_found_however_it_is_wrapped(source: str) -> None:
    assert len(given_up_phrases(source)) == 1


def test_a_phrase_is_whole_words() -> None:
    assert given_up_phrases("for whole needs; the fast laner") == []
