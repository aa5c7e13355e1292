"""Finds the grouping columns of a query's result in Spark's analyzed plan."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def group_columns(frame: "DataFrame") -> tuple[str, ...]:
    """The columns that derive from grouping columns only, in the order of the result; empty without a last aggregation.

    The steps after the last aggregation must keep its columns (renaming them or deriving them from one another is
    fine); otherwise the groups do not identify rows, and the result is empty.
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
    """The last aggregation, if only nodes with one child come after it."""
    while _kind(node) != "Aggregate":
        children = node.children()
        if children.size() != 1:
            return None
        node = children.apply(0)
    return node


def _is_of(expression: Any, attributes: set[int]) -> bool:
    """Whether it derives from these attributes only. A count of rows derives from none."""
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
