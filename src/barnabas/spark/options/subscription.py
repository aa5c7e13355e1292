"""The topics and partitions of a read: one of subscribe, subscribePattern, assign, or a pipeline's flow."""

import re
from dataclasses import dataclass

from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import STRATEGIES
from barnabas.spark.options.values import Values, partition_lists


@dataclass(frozen=True, slots=True)
class Subscribe:
    """All partitions of these topics, including those that are added later."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribePattern:
    """All partitions of the topics whose names match the pattern, including topics that are created later."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Assign:
    """These partitions."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class PipelineFlow:
    """The topic of a pipeline's flow, in the version that readers see when the read begins."""

    pipeline: str
    flow: str


Subscription = Subscribe | SubscribePattern | Assign | PipelineFlow

_EXAMPLE = 'for example option("subscribe", "orders,payments")'


def subscription(values: Values) -> Subscription:
    given = [name for name in STRATEGIES if values.has(name)]
    if values.has("pipeline") or values.has("flow"):
        return _pipeline_flow(values, given)
    if not given:
        raise UserError(
            "The read names no topics.",
            f"set one of the options subscribe, subscribePattern and assign, {_EXAMPLE}",
        )
    if len(given) > 1:
        raise UserError(
            f"The options {' and '.join(given)} are both set, and each of them selects topics.",
            f"keep one of them, {_EXAMPLE}",
        )
    text = values.text(given[0]) or ""
    if given[0] == "subscribe":
        return _subscribe(text)
    if given[0] == "subscribePattern":
        return _pattern(text)
    return _assign(text)


def _pipeline_flow(values: Values, given: list[str]) -> PipelineFlow:
    pipeline, flow = values.text("pipeline"), values.text("flow")
    if not pipeline or not flow:
        there, missing = ("pipeline", "flow") if pipeline else ("flow", "pipeline")
        raise UserError(
            f"The option {there} is set, and {missing} is not.",
            'a flow is named by two options: option("pipeline", "telemetry").option("flow", "averages")',
        )
    if given:
        raise UserError(
            f"The options pipeline and {given[0]} are both set, and each of them selects topics.",
            "keep one of them",
        )
    return PipelineFlow(pipeline, flow)


def _subscribe(text: str) -> Subscribe:
    topics = tuple(dict.fromkeys(topic for part in text.split(",") if (topic := part.strip())))
    if not topics:
        raise UserError(f"The option subscribe is {text!r} and names no topic.", f"name one or several, {_EXAMPLE}")
    return Subscribe(topics)


def _pattern(text: str) -> SubscribePattern:
    if not text:
        raise UserError("The option subscribePattern is empty.", "write a regular expression, like orders-.*")
    try:
        re.compile(text)
    except re.error as problem:
        raise UserError(
            f"The option subscribePattern is {text!r}, which is not a regular expression: {problem}.",
            "correct it; it may match anywhere in a topic's name, so use ^ and $ to match whole names",
        ) from None
    return SubscribePattern(text)


def _assign(text: str) -> Assign:
    lists = partition_lists("assign", text)
    partitions = tuple(TopicPartition(topic, number) for topic in sorted(lists) for number in lists[topic])
    if not partitions:
        raise UserError("The option assign names no partition.", 'write it like {"topicA": [0, 1], "topicB": [2, 4]}')
    return Assign(partitions)
