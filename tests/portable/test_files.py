"""The fallbacks for Linux's calls on files do the same; F_FULLFSYNC is used where it exists."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.portable import files


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


def test_this_system_has_the_calls_that_the_fallbacks_replace() -> None:
    """Otherwise the tests below would compare a fallback with itself."""
    assert files.write_pieces is os.pwritev
    assert files.sync_data is os.fdatasync


@pytest.mark.parametrize("write", [files.write_pieces, files.write_joined])
def test_pieces_are_written_one_after_another(descriptor: int, write: Callable[..., int]) -> None:
    pieces = [b"ab", bytearray(b"cde"), memoryview(b"xfx")[1:2], b""]
    assert write(descriptor, pieces, 3) == 6
    assert os.pread(descriptor, 100, 0) == b"\0\0\0abcdef"


@pytest.mark.parametrize("sync", [files.sync_data, files.full_sync])
def test_what_is_synced_is_there(descriptor: int, sync: Callable[[int], None]) -> None:
    os.write(descriptor, b"abc")
    sync(descriptor)
    assert os.pread(descriptor, 100, 0) == b"abc"
    with pytest.raises(OSError, match="Bad file descriptor"):
        sync(999_999)


class Calls:
    """Notes how a file is synced; F_FULLFSYNC ends with `outcome`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcome: int = 0) -> None:
        self.made: list[str] = []
        self._outcome = outcome
        monkeypatch.setattr(files, "_FULL_SYNC", 51)
        monkeypatch.setattr(fcntl, "fcntl", self._fcntl)
        monkeypatch.setattr(os, "fsync", lambda descriptor: self.made.append("fsync"))

    def _fcntl(self, descriptor: int, command: int) -> int:
        assert command == 51
        self.made.append("F_FULLFSYNC")
        if self._outcome:
            raise OSError(self._outcome, os.strerror(self._outcome))
        return 0


def test_a_full_sync_is_asked_for_where_there_is_one(monkeypatch: pytest.MonkeyPatch, descriptor: int) -> None:
    calls = Calls(monkeypatch)
    files.full_sync(descriptor)
    assert calls.made == ["F_FULLFSYNC"]


@pytest.mark.parametrize("refusal", [errno.EINVAL, errno.ENOTSUP, errno.ENOTTY])
def test_a_file_system_that_knows_no_full_sync_gets_a_plain_one(
    monkeypatch: pytest.MonkeyPatch, descriptor: int, refusal: int
) -> None:
    calls = Calls(monkeypatch, outcome=refusal)
    files.full_sync(descriptor)
    assert calls.made == ["F_FULLFSYNC", "fsync"]


def test_a_full_sync_that_fails_is_not_hidden(monkeypatch: pytest.MonkeyPatch, descriptor: int) -> None:
    calls = Calls(monkeypatch, outcome=errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        files.full_sync(descriptor)
    assert calls.made == ["F_FULLFSYNC"]


def test_cached_bytes_are_read_at_once(monkeypatch: pytest.MonkeyPatch, descriptor: int) -> None:
    os.write(descriptor, b"abc")
    assert files.read_cached(descriptor, 1, 2) == b"bc"
    assert files.read_cached(descriptor, 1, 9) == b"bc"
    monkeypatch.setattr(files, "_NO_WAIT", None)
    assert files.read_cached(descriptor, 1, 9) == b"bc"


@pytest.mark.parametrize(
    ("error", "expected"), [(errno.EAGAIN, None), (errno.EOPNOTSUPP, b"bc"), (errno.EINVAL, b"bc")]
)
def test_uncached_bytes_are_not_waited_for_unless_the_system_cannot_tell(
    monkeypatch: pytest.MonkeyPatch, descriptor: int, error: int, expected: bytes | None
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(error, os.strerror(error))

    os.write(descriptor, b"abc")
    monkeypatch.setattr(os, "preadv", refuse)
    assert files.read_cached(descriptor, 1, 9) == expected
