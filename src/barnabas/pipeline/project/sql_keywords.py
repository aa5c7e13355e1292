"""Recognizes misspelt SQL keywords: `FORM orders` should be `FROM orders`.

SQL takes an unknown word for a name, so a misspelt keyword leads to an error only at the word after it, or to none at
all.
"""

from collections.abc import Sequence

from barnabas.pipeline.project.sql_tokens import NotSql, tokens

KEYWORDS = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "JOIN", "UNION", "ORDER", "LIMIT", "WINDOW", "WITH", "VALUES")
"""The keywords that begin the parts of a query."""


def probable_keyword(word: str, keywords: Sequence[str] = KEYWORDS) -> str | None:
    """The keyword of which this word is a misspelling: one letter is wrong, missing, extra or swapped."""
    found = word.upper()
    if found in keywords or found == "FOR" or found.removesuffix("S") in keywords:  # another keyword; a table `orders`
        return None
    return next((keyword for keyword in keywords if _is_misspelling(found, keyword)), None)


def probable_keyword_before(sql: str, position: int) -> tuple[str, str] | None:
    """The misspelt word before this position, and the keyword; None if there is no misspelling."""
    try:
        before = [token for token in tokens(sql) if token.position < position]
    except NotSql:
        return None
    for token in before[-2:][::-1]:  # the parser may fail one word later
        keyword = probable_keyword(token.text) if token.kind == "word" else None
        if keyword is not None:
            return token.text, keyword
    return None


def _is_misspelling(word: str, keyword: str) -> bool:
    if len(word) == len(keyword):
        wrong = [index for index in range(len(word)) if word[index] != keyword[index]]
        swapped = len(wrong) == 2 and wrong[1] == wrong[0] + 1
        return len(wrong) == 1 or (swapped and sorted(word) == sorted(keyword))
    longer, shorter = (word, keyword) if len(word) > len(keyword) else (keyword, word)
    return len(longer) == len(shorter) + 1 and any(
        longer[:index] + longer[index + 1 :] == shorter for index in range(len(longer))
    )
