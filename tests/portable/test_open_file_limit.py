"""The limit of open files, as Linux and macOS let it be raised."""

import resource

import pytest

from barnabas.portable.open_file_limit import open_file_limit, raise_open_file_limit


class Limits:
    """A system's limits, in place of this one's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, most: int | None = None) -> None:
        self.now = (soft, hard)
        self._most = most
        monkeypatch.setattr(resource, "getrlimit", lambda kind: self.now)
        monkeypatch.setattr(resource, "setrlimit", self._set)

    def _set(self, kind: int, limits: tuple[int, int]) -> None:
        if self._most is not None and not 0 <= limits[0] <= self._most:
            raise ValueError("current limit exceeds maximum limit")
        self.now = limits


def test_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(monkeypatch, 1_024, 1_048_576)
    assert open_file_limit() == 1_024
    raise_open_file_limit()
    assert limits.now == (1_048_576, 1_048_576)
    assert open_file_limit() == 1_048_576


def test_linux_without_a_hard_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(monkeypatch, 1_024, resource.RLIM_INFINITY)
    raise_open_file_limit()
    assert limits.now == (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert open_file_limit() is None


def test_macos_says_unlimited_and_means_ten_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(monkeypatch, 256, resource.RLIM_INFINITY, most=10_240)
    raise_open_file_limit()
    assert limits.now == (10_240, resource.RLIM_INFINITY)


@pytest.mark.parametrize(("soft", "hard", "most"), [(20_000, -1, 10_240), (-1, -1, None), (512, 512, None)])
def test_a_limit_that_cannot_be_raised_stays(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, most: int) -> None:
    limits = Limits(monkeypatch, soft, hard, most)
    raise_open_file_limit()
    assert limits.now == (soft, hard)
