"""Finds the tables that a query reads, without Spark: the names after FROM and JOIN, except the query's own CTEs.

The query is walked once, with one `_Level` for each open parenthesis. A level knows whether it is a query (in
`EXTRACT(DAY FROM at)` it is not), whether a comma now separates tables, and which CTEs were defined in it. A CTE is
known once its body is closed, so `WITH readings AS (SELECT * FROM readings) ...` reads the table `readings`. A SELECT
without FROM that has a misspelling of it (`FORM`) is refused: it would read nothing.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.pipeline.project.sql_keywords import probable_keyword
from barnabas.pipeline.project.sql_tokens import NotSql, Token, tokens

_FUNCTIONS_WITH_FROM = ("EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY", "POSITION")
_ENDS_FROM = (
    "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW", "QUALIFY",
    "UNION", "EXCEPT", "INTERSECT", "MINUS", "SELECT", "VALUES", "VIEW",
)  # fmt: skip
_SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT", "MINUS", "ALL", "DISTINCT")
_NOT_RELATIONS = ("VALUES", "SELECT", "WITH", "FROM", "TABLE")


class TableName(NamedTuple):
    name: str
    """Parts of a longer name are joined by dots."""
    position: int
    length: int


@dataclass
class _Level:
    opened_at: int
    opened_by: str = ""
    """The word before the parenthesis."""
    defines: str | None = None
    """The CTE of which this is the body."""
    is_query: bool = False
    in_from: bool = False
    wants_relation: bool = False
    empty: bool = True
    with_: str = ""
    """"" outside of WITH; then what comes next: name, AS, body, or comma."""
    recursive: bool = False
    name_in_with: str = ""
    like_from: Token | None = None
    """In a SELECT that has no FROM so far: the word that was probably meant to be one."""
    ctes: set[str] = field(default_factory=set)


def table_names(sql: str) -> tuple[TableName, ...]:
    """Each place where a table is named, in the order of the text. Raises NotSql for what cannot be a query."""
    return _Walk(sql).names()


class _Walk:
    def __init__(self, sql: str) -> None:
        self._tokens = list(tokens(sql))
        self._at = 0
        self._levels = [_Level(0)]
        self._found: list[TableName] = []
        self._length = len(sql)

    def names(self) -> tuple[TableName, ...]:
        if not self._tokens:
            raise NotSql("there is no query", 0, "write one: SELECT ... FROM ...")
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            self._step(token)
            if self._levels:
                self._levels[-1].empty = False
        _refuse_misspelt_from(self._levels[0])
        if len(self._levels) > 1:
            raise NotSql("this parenthesis is not closed", self._levels[-1].opened_at, "close it with )")
        return tuple(self._found)

    def _step(self, token: Token) -> None:
        level = self._levels[-1]
        if token.kind == "mark":
            self._mark(token, level)
        elif (level.with_ not in ("", "done") and self._in_with(token, level)) or self._precedes_table(token, level):
            return
        elif self._at > 1 and self._tokens[self._at - 2][:2] == ("mark", "."):
            level.wants_relation = False  # a column, even if its name is a keyword
        elif level.wants_relation and _may_be_a_table(token):
            self._relation(token, level)
        elif token.keyword:
            self._note_misspelt_from(token, level)
            self._keyword(token, level)
        else:
            level.wants_relation = False

    def _precedes_table(self, token: Token, level: _Level) -> bool:
        """LATERAL and STREAM may be between FROM and a table."""
        is_stream = token.keyword == "STREAM" and self._peek().kind in ("word", "quoted")
        return level.wants_relation and (token.keyword == "LATERAL" or is_stream)

    def _mark(self, token: Token, level: _Level) -> None:
        if token.text == "(":
            self._open(token, level)
        elif token.text == ")":
            if len(self._levels) == 1:
                raise NotSql("this closing parenthesis has no opening one", token.position, "remove it")
            closed = self._levels.pop()
            _refuse_misspelt_from(closed)
            outer = self._levels[-1]
            if closed.defines is not None:
                outer.ctes.add(closed.defines.lower())
                outer.with_ = "comma"
        elif token.text == ";":
            if self._at < len(self._tokens):
                raise NotSql("a flow is a single query, which ends here", token.position, "remove what follows")
        elif token.text == "," and level.with_ == "comma":
            level.with_ = "name"
        elif token.text == ",":
            level.wants_relation = level.in_from
        elif token.text == "|":
            level.in_from = level.wants_relation = False

    def _open(self, token: Token, level: _Level) -> None:
        before = self._tokens[self._at - 2] if self._at > 1 else Token("mark", "", 0)
        inner = _Level(token.position, before.keyword)
        if level.with_ == "body":
            inner.defines = level.name_in_with
            if level.recursive:
                level.ctes.add(level.name_in_with.lower())
        elif before.keyword in ("STREAM", "TABLE") or (level.wants_relation and before.keyword != "LATERAL"):
            # (a JOIN b), STREAM(a), or a query: in all of them, a name that comes first is a table.
            inner.in_from = inner.wants_relation = True
        level.wants_relation = False
        self._levels.append(inner)

    def _in_with(self, token: Token, level: _Level) -> bool:
        if level.with_ == "name":
            if token.keyword == "RECURSIVE" and self._peek().kind != "mark":
                level.recursive = True
            else:
                level.name_in_with, level.with_ = token.text, "AS"
            return True
        if level.with_ == "AS":
            if token.keyword == "AS":
                level.with_ = "body"
            return True
        if level.with_ == "comma":  # no comma came: the query itself begins
            level.with_ = "done"
            return False
        return level.with_ == "body"

    def _relation(self, token: Token, level: _Level) -> None:
        parts, end = [token.text], token.position + len(token.text) + 2 * (token.kind == "quoted")
        while self._peek().text == "." and self._peek().kind == "mark" and self._peek(1).kind in ("word", "quoted"):
            part = self._peek(1)
            parts.append(part.text)
            end = part.position + len(part.text) + 2 * (part.kind == "quoted")
            self._at += 2
        following = self._peek()
        if following.kind == "mark" and following.text == "(" and token.kind == "word":
            if token.keyword == "STREAM":
                return  # the table is in its parentheses
            level.wants_relation = False  # a table function
            return
        level.wants_relation = False
        if len(parts) == 1 and any(token.text.lower() in each.ctes for each in self._levels):
            return
        self._found.append(TableName(".".join(parts), token.position, end - token.position))

    def _keyword(self, token: Token, level: _Level) -> None:
        keyword = token.keyword
        before = self._tokens[self._at - 2] if self._at > 1 else None
        if keyword == "WITH" and (level.empty or level.wants_relation):
            level.with_, level.in_from, level.wants_relation = "name", False, False
        elif keyword == "FROM":
            starts = level.empty or level.wants_relation or level.with_ == "done"
            compares = before is not None and before.keyword == "DISTINCT"
            if (level.is_query or starts) and not compares and level.opened_by not in _FUNCTIONS_WITH_FROM:
                level.is_query = level.in_from = level.wants_relation = True
        elif keyword == "JOIN":
            level.in_from = level.wants_relation = True
        elif keyword == "TABLE" and (level.empty or level.wants_relation or self._after_set_operation(before)):
            level.wants_relation = True
        elif keyword in _ENDS_FROM:
            level.is_query = level.is_query or keyword == "SELECT"
            level.in_from = level.wants_relation = False
        else:
            level.wants_relation = False

    def _note_misspelt_from(self, token: Token, level: _Level) -> None:
        """Remember a misspelling of FROM before a name, in the list of a SELECT."""
        if token.keyword == "FROM":
            level.like_from = None
        elif token.keyword in _ENDS_FROM:
            _refuse_misspelt_from(level)
        elif level.is_query and not level.in_from and probable_keyword(token.text, ("FROM",)):
            following = self._peek()
            if following.kind == "quoted" or (following.keyword and following.keyword not in ("FROM", *_ENDS_FROM)):
                level.like_from = level.like_from or token

    def _after_set_operation(self, before: Token | None) -> bool:
        return before is not None and before.keyword in _SET_OPERATIONS

    def _peek(self, ahead: int = 0) -> Token:
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else Token("end", "", self._length)


def _refuse_misspelt_from(level: _Level) -> None:
    if level.like_from is not None:
        word = level.like_from
        raise NotSql(f"this query has `{word.text}` and no FROM", word.position, "did you mean FROM?")


def _may_be_a_table(token: Token) -> bool:
    return token.kind == "quoted" or (
        token.kind == "word" and token.keyword not in _NOT_RELATIONS and not token.text.isdigit()
    )
