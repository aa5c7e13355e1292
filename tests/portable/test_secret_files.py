import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from barnabas.portable.secret_files import file_on_disk, secret_file


@pytest.mark.parametrize("make", [secret_file, file_on_disk])
def test_a_secret_can_be_read_again_and_again_and_leaves_nothing(
    make: Callable[[bytes], AbstractContextManager[str]],
) -> None:
    with make(b"the key") as path:
        for _ in range(2):
            with open(path, "rb") as file:
                assert file.read() == b"the key"
    assert not os.path.exists(path)


def test_on_disk_nobody_else_may_read_it() -> None:
    with file_on_disk(b"the key") as path:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
