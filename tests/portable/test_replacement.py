"""A file is replaced as a whole, by one process or several, and a failure leaves the old one."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.portable import replacement
from barnabas.portable.replacement import move_into_place, replace_file


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_is_replaced_as_a_whole(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "queries.json"
    replace_file(path, b"old", sync=sync)
    before = path.open()
    replace_file(path, b"new", sync=sync)
    with before:
        assert before.read() == "old", "a reader of the old file can continue"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode, "others can read it as they can any new file"


def test_a_name_alone_is_in_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    replace_file("status", b"x", sync=True)
    assert (tmp_path / "status").read_bytes() == b"x"


def test_several_writers_at_once_do_not_mix_their_files(tmp_path: Path) -> None:
    path = tmp_path / "stop"
    contents = [bytes([number]) * 100_000 for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        for written in [pool.submit(replace_file, path, content, sync=False) for content in contents]:
            written.result()
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "outputs.json"
    replace_file(path, b"old", sync=True)

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(replacement, "full_sync", fail)
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, b"new", sync=True)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_gets_its_name_when_it_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, path = tmp_path / "written", tmp_path / "archive"
    written.write_bytes(b"x")
    steps: list[str] = []
    monkeypatch.setattr(replacement, "full_sync", lambda descriptor: steps.append(f"sync, named: {path.exists()}"))
    monkeypatch.setattr(
        replacement, "sync_directory", lambda folder: steps.append(f"sync {folder}, named: {path.exists()}")
    )
    move_into_place(written, path, on_step=steps.append)
    assert steps == ["sync, named: False", "synced", "renamed", f"sync {tmp_path}, named: True", "in-place"]
