"""The tables that a query reads are found as Spark finds them, and no text makes the parser fail otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.project.sql_keywords import probable_keyword, probable_keyword_before
from barnabas.pipeline.project.sql_tables import TableName, table_names
from barnabas.pipeline.project.sql_tokens import NotSql, tokens

QUERIES = {
    "SELECT * FROM a": "a",
    "select * from a": "a",
    "SELECT * FROM a, b c, d AS e": "a b d",
    "SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c USING (x, y), d": "a b c d",
    "SELECT * FROM (SELECT * FROM a) x CROSS JOIN b": "a b",
    "SELECT * FROM (a JOIN b)": "a b",
    "SELECT * FROM ((a))": "a",
    "SELECT (SELECT max(x) FROM b) FROM a WHERE EXISTS (SELECT 1 FROM c) AND y IN (SELECT y FROM d)": "b a c d",
    "WITH a AS (SELECT * FROM b) SELECT * FROM a": "b",
    "WITH readings AS (SELECT * FROM readings) SELECT * FROM readings": "readings",
    "WITH a AS (SELECT 1), b (x, y) AS (SELECT * FROM a, c) SELECT * FROM a JOIN b JOIN d": "c d",
    "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t": "",
    "SELECT * FROM (WITH a AS (SELECT * FROM b) SELECT * FROM a) JOIN a": "b a",
    "WITH a AS (SELECT * FROM b) FROM a SELECT x": "b",
    "SELECT * FROM a UNION ALL SELECT * FROM b EXCEPT TABLE c": "a b c",
    "TABLE a": "a",
    "FROM a SELECT x, y": "a",
    "FROM a |> WHERE x > 1 |> JOIN b ON a.x = b.x |> SELECT x, y": "a b",
    "SELECT EXTRACT(DAY FROM at), TRIM(BOTH 'x' FROM y), trim(FROM z), SUBSTRING(x FROM 2 FOR 3) FROM a": "a",
    "SELECT * FROM a WHERE x IS DISTINCT FROM y AND z IS NOT DISTINCT FROM w": "a",
    "SELECT * FROM range(10), a": "a",
    "SELECT * FROM a, LATERAL explode(a.xs) AS t(x), LATERAL (SELECT * FROM b)": "a b",
    "SELECT * FROM a LATERAL VIEW explode(xs) t AS x, y WHERE x > 1": "a",
    "SELECT * FROM VALUES (1, 2), (3, 4) AS t(x, y)": "",
    "SELECT * FROM STREAM a JOIN STREAM(b)": "a b",
    "SELECT 'it''s FROM b', \"FROM c\", r'FROM \\', $$ FROM d $$, $x$ FROM e $x$ FROM a": "a",
    "SELECT 'a\\' FROM b' FROM a": "a",
    "-- FROM b\nSELECT * /* FROM c /* FROM d */ FROM e */ FROM a -- FROM f": "a",
    "SELECT /*+ BROADCAST(b) */ * FROM a": "a",
    "SELECT * FROM `a b` JOIN `c``d` JOIN `from`": "a b|c`d|from",
    "SELECT * FROM db.a JOIN cat . db . b": "db.a cat.db.b",
    "SELECT t.from, t.join, t.offset FROM a t JOIN b ON t.offset = b.offset, c": "a b c",
    "SELECT 1. FROM a": "a",
    "SELECT 1.5e3, .5 FROM a": "a",
    "SELECT count(*) FROM a GROUP BY x, y HAVING z > 1 ORDER BY x, y LIMIT 3": "a",
    "SELECT sum(x) OVER (PARTITION BY y ORDER BY z) FROM a WINDOW w AS (PARTITION BY x), v AS (ORDER BY y)": "a",
    "SELECT * FROM a TABLESAMPLE (10 PERCENT) x, b PIVOT (sum(x) FOR y IN (1, 2))": "a b",
    "SELECT device, window.start FROM readings GROUP BY device, window(at, '1 minute');": "readings",
    "SELECT 1": "",
    "SELECT a.*, b.x FROM a\n  JOIN\n  b": "a b",
    "SELECT CASE WHEN x THEN y END FROM größe": "größe",
}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, amount FORM orders",
        "SELECT * form orders WHERE amount > 1",
        "SELECT * FRM orders o JOIN customers c ON o.customer = c.id",
        "SELECT * FROM (SELECT max(x) FORM `a b`)",
        "WITH t AS (SELECT * FRMO a) SELECT * FROM t",
        "SELECT * FORM a UNION ALL SELECT * FROM b",
    ],
)
def test_a_misspelt_from_is_told(sql: str) -> None:
    with pytest.raises(NotSql) as refusal:
        table_names(sql)
    assert refusal.value.hint == "did you mean FROM?"
    assert probable_keyword(sql[refusal.value.position :].split()[0], ("FROM",))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT form first, id FROM orders",
        "SELECT 1 form",
        "SELECT 'x' AS form UNION ALL SELECT 'y'",
        "SELECT o.form, form(x) AS y, form OVER w FROM orders o",
        "SELECT SUBSTRING(name FROM 2 FOR length) FROM orders",
    ],
)
def test_a_word_like_from_may_be_a_name(sql: str) -> None:
    assert [each.name for each in table_names(sql)] == (["orders"] if "orders" in sql else [])


def test_keywords_that_were_meant() -> None:
    assert [probable_keyword(word) for word in ("form", "WEHRE", "grop", "JION", "seelct", "HAVINGG", "LIMTI")] == [
        "FROM",
        "WHERE",
        "GROUP",
        "JOIN",
        "SELECT",
        "HAVING",
        "LIMIT",
    ]
    assert [probable_keyword(word) for word in ("from", "FOR", "orders", "id", "AS", "ON")] == [None] * 6
    sql = "SELECT * FROM orders WEHRE amount > 1"
    assert probable_keyword_before(sql, sql.index("amount")) == ("WEHRE", "WHERE")
    assert probable_keyword_before(sql, sql.index("orders")) is None
    assert probable_keyword_before("SELECT 'open", 8) is None


@pytest.mark.parametrize("sql", QUERIES)
def test_tables_are_found(sql: str) -> None:
    expected = QUERIES[sql]
    assert [each.name for each in table_names(sql)] == (expected.split("|") if "|" in expected else expected.split())


@pytest.mark.parametrize("sql", QUERIES)
def test_a_name_is_where_it_is_said_to_be(sql: str) -> None:
    for found in table_names(sql):
        text = sql[found.position : found.position + found.length]
        assert text.replace("``", "\0").replace("`", "").replace("\0", "`").replace(" ", "") in (
            found.name,
            found.name.replace(" ", ""),
        )


WRONG = {
    "": (0, "there is no query"),
    " -- nothing\n": (0, "there is no query"),
    "SELECT 'a": (7, "a string is not closed"),
    "SELECT `a": (7, "a name in back quotes is not closed"),
    "SELECT /* a": (7, "this comment is not closed"),
    "SELECT (1": (7, "this parenthesis is not closed"),
    "SELECT 1)": (8, "this closing parenthesis has no opening one"),
    "SELECT 1; SELECT 2": (8, "a flow is a single query, which ends here"),
    "SELECT $a$ x": (7, "the string that begins with $a$ does not end"),
}


@pytest.mark.parametrize("sql", WRONG)
def test_what_is_no_query_is_told_at_its_place(sql: str) -> None:
    with pytest.raises(NotSql) as caught:
        table_names(sql)
    assert (caught.value.position, str(caught.value)) == WRONG[sql]
    assert caught.value.hint


WORDS = (
    "( ) , ; . ` ' \" | > SELECT FROM JOIN WITH AS TABLE STREAM LATERAL VIEW VALUES RECURSIVE UNION DISTINCT EXTRACT "
    "ON WHERE -- /* */ $$ 1 1. 'x' `y` a b"
)
PIECES = st.sampled_from(WORDS.split())


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map(" ".join)))
def test_any_text_is_read_or_refused(sql: str) -> None:
    found: tuple[TableName, ...] = ()
    position = 0
    try:
        found = table_names(sql)
    except NotSql as error:
        position = error.position
    assert 0 <= position <= len(sql)
    for each in found:
        assert each.name
        assert 0 <= each.position < each.position + each.length <= len(sql)


NAMES = st.from_regex(r"\At[a-z0-9_]{0,8}\Z")
NOISE = st.sampled_from(
    [
        "",
        " -- FROM nobody\n",
        "/* FROM nobody /* x */ */",
        " /*+ HINT(nobody) */ ",
        "\n\t",
        " ",
        " 'FROM nobody' AS s, ",
    ]
)


@st.composite
def queries(draw: st.DrawFn, depth: int = 2) -> tuple[str, list[str]]:
    """A generated query, and the tables that it reads."""
    tables: list[str] = []
    relations = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["name", "quoted", "query", "function"] if depth else ["name", "function"]))
        if kind == "query":
            inner, found = draw(queries(depth=depth - 1))
            relations.append(f"({inner})")
            tables += found
        elif kind == "function":
            relations.append("explode(array(1, 2))")
        else:
            name = draw(NAMES)
            relations.append(f"`{name}`" if kind == "quoted" else name)
            tables.append(name)
    between = draw(st.sampled_from([", ", " JOIN ", "\nLEFT JOIN "]))
    noise, comment = draw(NOISE), draw(NOISE.filter(lambda text: "AS s" not in text))
    where = draw(
        st.sampled_from(["", " WHERE x IS DISTINCT FROM y", " GROUP BY a, b", " ORDER BY EXTRACT(DAY FROM z), c"])
    )
    text = f"SELECT {noise} * {comment} FROM {comment} {between.join(relations)}{where}"
    if draw(st.booleans()):
        cte = f"c{draw(NAMES)}"
        text = f"WITH {cte} AS (SELECT 1) {text.replace('FROM ' + comment, 'FROM ' + comment + ' ' + cte + ',', 1)}"
    return text, tables


@given(queries())
def test_tables_of_made_queries_are_found(made: tuple[str, list[str]]) -> None:
    sql, expected = made
    assert [each.name for each in table_names(sql)] == expected


@given(st.text(alphabet="ab'\"`-/*$ \n\\.(1r", max_size=30))
def test_tokens_cover_the_text_in_order(sql: str) -> None:
    try:
        positions = [token.position for token in tokens(sql)]
    except NotSql:
        return
    assert positions == sorted(set(positions))
