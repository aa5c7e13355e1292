"""How `kafka-console-producer` makes a record of a line: Kafka's LineMessageReader.

    headers<headers.delimiter>key<key.separator>value

where the first two parts are there only with `parse.headers` and `parse.key`, and headers look like h1:v1,h2:v2.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from barnabas.cli.errors import CommandFailed

Headers = list[tuple[str, bytes | None]]


class LineRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Headers


class LineReader:
    def __init__(self, properties: Mapping[str, str]) -> None:
        self._parse_key = _is_true(properties, "parse.key")
        self._parse_headers = _is_true(properties, "parse.headers")
        self._ignore_error = _is_true(properties, "ignore.error")
        self._key_separator = properties.get("key.separator", "\t")
        self._headers_delimiter = properties.get("headers.delimiter", "\t")
        self._headers_separator = properties.get("headers.separator", ",")
        self._headers_key_separator = properties.get("headers.key.separator", ":")
        self._null_marker = properties.get("null.marker")
        self._check()

    def read(self, lines: Iterable[bytes]) -> Iterator[LineRecord]:
        for number, line in enumerate(lines, start=1):
            text = line.decode(errors="surrogateescape").removesuffix("\n").removesuffix("\r")
            yield self._record(text, number)

    def _record(self, line: str, number: int) -> LineRecord:
        headers, rest = self._part(
            self._parse_headers, line, line, self._headers_delimiter, "headers delimiter", number
        )
        key, value = self._part(self._parse_key, rest, line, self._key_separator, "key separator", number)
        return LineRecord(
            self._bytes(key),
            self._bytes(value),
            [] if headers is None or headers == self._null_marker else self._split_headers(headers, number),
        )

    def _part(
        self, enabled: bool, text: str, line: str, separator: str, name: str, number: int
    ) -> tuple[str | None, str]:
        if not enabled:
            return None, text
        part, found, rest = text.partition(separator)
        if found:
            return part, rest
        if self._ignore_error:
            return None, text
        raise CommandFailed(
            f"No {name} found on line number {number}: '{line}'",
            hint="choose it with --reader-property key.separator=..., or let it pass: ignore.error=true",
        )

    def _split_headers(self, text: str, number: int) -> Headers:
        found: Headers = []
        for pair in re.split(self._headers_separator, text):
            key, separator, value = pair.partition(self._headers_key_separator)
            if not separator:
                if not self._ignore_error:
                    raise CommandFailed(f"No header key separator found in pair '{pair}' on line number {number}")
                found.append((pair, None))
                continue
            if key == self._null_marker:
                raise CommandFailed(f"Header keys should not be equal to the null marker '{key}' as they can't be null")
            found.append((key, self._bytes(value)))
        return found

    def _bytes(self, text: str | None) -> bytes | None:
        return None if text is None or text == self._null_marker else text.encode(errors="surrogateescape")

    def _check(self) -> None:
        named = {
            "headers.delimiter": self._headers_delimiter,
            "headers.separator": self._headers_separator,
            "headers.key.separator": self._headers_key_separator,
        }
        if self._null_marker is not None:
            named |= {"null.marker": self._null_marker}
            if self._key_separator == self._null_marker:
                raise CommandFailed("null.marker and key.separator may not be equal")
        for (one, text), (other, same) in combinations(named.items(), 2):
            if text == same:
                raise CommandFailed(f"{one} and {other} may not be equal")


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().lower() == "true"
