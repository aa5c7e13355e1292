"""kcat: the command-line client, as Debian ships it.

It writes one partition per run, the same headers on every record, and no timestamps of its own. It reads with a format
that carries lengths, so that any bytes come through.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence

import pytest
from client_records import DEADLINE_S, Headers, Seen, Sent

FORMAT = r"%p %o %T %K %S|%k%s|%h\n"
_FRONT = re.compile(rb"(\d+) (\d+) (-?\d+) (-?\d+) (-?\d+)\|")

# Neither occurs in the samples.
KEY_DELIMITER = "\x7f"
RECORD_DELIMITER = "\x1e"


class Kcat:
    name = "kcat"

    def writable(self, records: Iterable[Sent]) -> list[Sent]:
        # -Z: an empty key or value is none at all
        headers: Headers = (("from", b"kcat"), ("nothing", None))
        return [
            record._replace(key=record.key or None, value=record.value or None, headers=headers, timestamp=None)
            for record in records
        ]

    def write(self, servers: str, topic: str, records: Sequence[Sent], *, codec: str = "none") -> list[int]:
        for partition in {record.partition for record in records}:
            mine = [record for record in records if record.partition == partition]
            data = RECORD_DELIMITER.encode().join(
                (record.key or b"") + KEY_DELIMITER.encode() + (record.value or b"") for record in mine
            )
            headers = [option for name, value in mine[0].headers for option in ("-H", _header_text(name, value))]
            run(
                *("-b", servers, "-P", "-t", topic, "-p", str(partition), "-z", codec, "-Z", *headers),
                *("-K", KEY_DELIMITER, "-D", RECORD_DELIMITER),
                stdin=data,
            )
        counts: dict[int, int] = {}
        offsets = []
        for record in records:
            offsets.append(counts.get(record.partition, 0))
            counts[record.partition] = offsets[-1] + 1
        return offsets

    def read(self, servers: str, topic: str, ends: Mapping[int, int]) -> list[Seen]:
        output = run("-b", servers, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", FORMAT, *QUICK_END)
        seen = parse(output)
        assert len(seen) == sum(ends.values())
        return seen


# -e ends at the first empty answer: let the broker give it soon.
QUICK_END = ("-X", "fetch.wait.max.ms=20")


def run(*arguments: str, stdin: bytes = b"", check: bool = True) -> bytes:
    """Run kcat to its end and return its stdout."""
    result = subprocess.run([path(), *arguments], input=stdin, capture_output=True, timeout=DEADLINE_S, check=False)
    if check and result.returncode:
        raise AssertionError(f"kcat {' '.join(arguments)} failed: {result.stderr.decode()}")
    return result.stdout if check else result.stdout + result.stderr


def path() -> str:
    found = shutil.which("kcat")
    if found is None:
        pytest.fail("kcat is one of the clients that judge the broker and is not installed: run `make kcat`")
    return found


def parse(output: bytes) -> list[Seen]:
    seen = []
    position = 0
    while position < len(output):
        front = _FRONT.match(output, position)
        assert front, f"not in our format: {output[position : position + 80]!r}"
        partition, offset, timestamp, key_size, value_size = map(int, front.groups())
        position = front.end()
        key, position = _take(output, position, key_size)
        value, position = _take(output, position, value_size)
        assert output[position : position + 1] == b"|"
        end = output.index(b"\n", position)
        seen.append(Seen(partition, offset, timestamp, key, value, _parse_headers(output[position + 1 : end])))
        position = end + 1
    return seen


def _take(output: bytes, position: int, size: int) -> tuple[bytes | None, int]:
    return (None, position) if size < 0 else (output[position : position + size], position + size)


def _parse_headers(text: bytes) -> Headers:
    headers = []
    for pair in text.split(b",") if text else ():
        name, _, value = pair.partition(b"=")
        headers.append((name.decode(), None if value == b"NULL" else value))
    return tuple(headers)


def _header_text(name: str, value: bytes | None) -> str:
    return name if value is None else f"{name}={value.decode()}"
