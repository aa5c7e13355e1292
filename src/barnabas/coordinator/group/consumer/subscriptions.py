"""The subscriptions of a group, and the group epoch, which grows when they change.

The epoch grows when a member's subscription changes, when a regular expression matches other topics, and when
subscribed topics are created, deleted or get more partitions, which changes their hash (`modern.topics`).

All regular expressions of a group are matched together, in a worker: when one is new, when there are new topics, and
periodically. Until it is resolved for the first time, a regular expression matches no topic.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import Enum
from typing import Any, Final

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.core.regex import compile_regex, matching
from barnabas.coordinator.group.common.job import Job
from barnabas.coordinator.group.common.modern_group import add_counts
from barnabas.coordinator.group.common.record_format import TEXT_BYTES_MAX, fits
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.group import NOTHING_RESOLVED, ConsumerGroup, ResolvedRegex
from barnabas.coordinator.group.consumer.member import ConsumerMember
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import InvalidRegularExpression

REFRESH_INTERVAL_MS_MIN: Final = 10_000
"""Many topics may be created one after another: they are matched in batches."""


class RegexChange(Enum):
    NONE = "none"
    UNRESOLVED = "unresolved"
    """The regular expression has changed, and is not resolved yet."""
    RESOLVED = "resolved"


def update_regexes(
    store: GroupStore,
    group: ConsumerGroup,
    before: ConsumerMember,
    member: ConsumerMember,
    now: Now,
    decision: Decision[Any],
) -> RegexChange:
    change = RegexChange.NONE
    if before.subscribed_topic_regex != member.subscribed_topic_regex:
        change = _changed(group, before.regex, member.regex, decision)
    counts = dict(group.regexes)
    if before.regex != member.regex:
        add_counts(counts, (before.regex,) if before.regex in counts else (), -1)
        add_counts(counts, (member.regex,) if member.regex else (), 1)
    if counts and _key(group.group_id) not in store.jobs and _is_due(store, group, counts, now):
        decision.sends.append(_resolved_later(store, group.group_id, tuple(counts)))
    return change


def _changed(group: ConsumerGroup, before: str, after: str, decision: Decision[Any]) -> RegexChange:
    if before and group.regexes.get(before) == 1:
        decision.records.append(records.regex(group.group_id, before, None))
    if not after:
        return RegexChange.RESOLVED if before else RegexChange.UNRESOLVED
    if after in group.regexes:
        return RegexChange.RESOLVED if after in group.resolved else RegexChange.UNRESOLVED
    if not fits(after):
        raise InvalidRegularExpression(f"SubscribedTopicRegex has more than {TEXT_BYTES_MAX} bytes")
    compile_regex(after)
    return RegexChange.UNRESOLVED


def _is_due(store: GroupStore, group: ConsumerGroup, expressions: Iterable[str], now: Now) -> bool:
    if any(expression not in group.resolved for expression in expressions):
        return True
    last = next(iter(group.resolved.values()))
    if now.wall_ms <= last.timestamp_ms + REFRESH_INTERVAL_MS_MIN:
        return False
    return (
        last.version < store.catalog.names_version
        or now.wall_ms > last.timestamp_ms + store.settings.consumer_regex_refresh_interval_ms
    )


def _key(group_id: str) -> Hashable:
    return ("regex", group_id)


def _resolved_later(store: GroupStore, group_id: str, expressions: tuple[str, ...]) -> Job:
    names = store.catalog.topics.by_name.keys()
    version = store.catalog.names_version

    def then(store: GroupStore, found: Mapping[str, frozenset[str]], now: Now) -> Decision[None]:
        done: Decision[None] = Decision(None)
        group = store.modern.get(group_id)
        if isinstance(group, ConsumerGroup):
            resolved = {
                expression: ResolvedRegex(topics, version, now.wall_ms)
                for expression, topics in found.items()
                if expression in group.regexes
            }
            _take_over(store, group, resolved, done)
        return done

    return Job(_key(group_id), _matching_all(expressions, names), then)


def _matching_all(expressions: tuple[str, ...], names: Iterable[str]) -> Callable[[], Mapping[str, frozenset[str]]]:
    return lambda: {expression: frozenset(matching(expression, names)) for expression in expressions}


def _take_over(
    store: GroupStore, group: ConsumerGroup, resolved: Mapping[str, ResolvedRegex], decision: Decision[Any]
) -> None:
    changed = False
    for expression, meaning in resolved.items():
        changed |= group.resolved.get(expression, NOTHING_RESOLVED).topics != meaning.topics
        decision.records.append(records.regex(group.group_id, expression, meaning))
    names = set(group.names_subscribed)
    for expression, known in {**group.resolved, **resolved}.items():
        if expression in group.regexes:
            names |= known.topics
    topics_hash = store.catalog.hash_of(names)
    if changed or topics_hash != group.metadata_hash:
        epoch = group.group_epoch + 1
        decision.records.append(records.group_epoch(group.group_id, epoch, topics_hash))
        group.topics_checked(store.catalog.version, epoch)


def subscribed_names(
    group: ConsumerGroup, replaced: Iterable[tuple[ConsumerMember | None, ConsumerMember | None]]
) -> set[str]:
    """The subscribed topics of the group after members were replaced (before, after) or removed."""
    counts = dict(group.names_subscribed)
    regexes = dict(group.regexes)
    for before, after in replaced:
        for member, step in ((before, -1), (after, 1)):
            if member is not None:
                # A new member subscribed to nothing before.
                add_counts(counts, member.subscribed_topic_names, step)
                if member.regex and (step > 0 or member.regex in regexes):
                    add_counts(regexes, (member.regex,), step)
    names = set(counts)
    for expression, meaning in group.resolved.items():
        if expression in regexes:
            names |= meaning.topics
    return names


def update_epoch(
    store: GroupStore,
    group: ConsumerGroup,
    before: ConsumerMember,
    member: ConsumerMember,
    *,
    changed: bool,
    decision: Decision[Any],
) -> int:
    """The next group epoch if the subscriptions have `changed` or the topics have, otherwise the current one."""
    version = store.catalog.version
    if not changed and not group.needs_topic_check(version):
        return group.group_epoch
    epoch = group.group_epoch
    topics_hash = store.catalog.hash_of(subscribed_names(group, [(before, member)]))
    if changed or topics_hash != group.metadata_hash:
        epoch += 1
        decision.records.append(records.group_epoch(group.group_id, epoch, topics_hash))
    if group.has_partition_metadata:
        decision.records.append(records.no_partition_metadata(group.group_id))
    group.topics_checked(version, epoch)
    return epoch
