"""Keywords of SQL that were probably meant: `FORM orders` is `FROM orders`.

SQL takes a word that it does not know for a name, so a misspelt keyword is an error only at the word behind it, or none
at all where the rest still is a query.
"""

from collections.abc import Sequence

from barnabas.pipeline.project.sql_tokens import NotSql, tokens

KEYWORDS = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "JOIN", "UNION", "ORDER", "LIMIT", "WINDOW", "WITH", "VALUES")
"""Those between the parts of a query."""


def meant(word: str, keywords: Sequence[str] = KEYWORDS) -> str | None:
    """The keyword of which this word is a misspelling: one letter is wrong, missing, too many, or in a wrong place."""
    found = word.upper()
    if found in keywords or found == "FOR" or found.removesuffix("S") in keywords:  # another keyword; a table `orders`
        return None
    return next((keyword for keyword in keywords if _is_misspelling(found, keyword)), None)


def meant_before(sql: str, position: int) -> tuple[str, str] | None:
    """The word in front of this character and the keyword that was meant by it; None if it is no misspelling."""
    try:
        before = [token for token in tokens(sql) if token.position < position]
    except NotSql:
        return None
    for token in before[-2:][::-1]:  # the parser may fail one word later
        keyword = meant(token.text) if token.kind == "word" else None
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
