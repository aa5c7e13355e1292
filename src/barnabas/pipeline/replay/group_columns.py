"""The columns of a query's result that say which group a row is of: told from Spark's analysed plan."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def group_columns(frame: "DataFrame") -> tuple[str, ...]:
    """Those that are made of grouping columns alone, in the order of the result; empty if nothing is grouped last.

    What comes behind the last aggregation must keep its columns (renamed or computed from one another is fine);
    otherwise rows cannot be told apart by groups, and the answer is empty.
    """
    analysed: Any = frame._jdf.queryExecution().analyzed()
    found = _last_aggregate(analysed)
    if found is None:
        return ()
    grouped = {
        attribute
        for expression in _each(found.groupingExpressions())
        for attribute in _references(expression, own=True)
    }
    expressions = list(_each(found.aggregateExpressions()))
    groups = {int(each.exprId().id()) for each in expressions if _is_of(each, grouped)}
    covered = {ref for each in expressions if _is_of(each, grouped) for ref in _references(each)}
    if not grouped <= covered | groups:
        return ()  # a grouping column is not in the result
    node = analysed
    chain = []
    while not node.equals(found):
        chain.append(node)
        node = node.children().apply(0)
    for node in reversed(chain):
        if _kind(node) == "Project":
            groups |= {int(each.exprId().id()) for each in _each(node.projectList()) if _is_of(each, groups)}
    return tuple(str(each.name()) for each in _each(analysed.output()) if int(each.exprId().id()) in groups)


def _last_aggregate(node: Any) -> Any | None:
    """Below nothing but nodes with one child."""
    while _kind(node) != "Aggregate":
        children = node.children()
        if children.size() != 1:
            return None
        node = children.apply(0)
    return node


def _is_of(expression: Any, attributes: set[int]) -> bool:
    """Made of these alone; a count of rows is made of nothing."""
    made_of = _references(expression)
    if int(expression.exprId().id()) in attributes:
        return True
    return bool(made_of) and made_of <= attributes


def _references(expression: Any, *, own: bool = False) -> set[int]:
    found = {int(each.exprId().id()) for each in _each(expression.references().toSeq())}
    if own and hasattr(expression, "exprId") and _kind(expression) in ("AttributeReference", "Alias"):
        found = {int(expression.exprId().id())}
    return found


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())
