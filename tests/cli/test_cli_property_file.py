"""Errors of property files."""

from pathlib import Path

import pytest

from barnabas.cli.errors import CommandFailed
from barnabas.cli.property_file import read_property_file


def test_a_file_that_is_no_text_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CommandFailed, match="not text"):
        read_property_file(str(path))
