"""Freed memory stays with the process, so that the next large buffer costs no page faults."""

import resource
import subprocess
import sys

import pytest

from barnabas.portable import allocator

# Ten buffers of 1 MB, again and again, as for a large fetch.
PROGRAM = """
import resource, sys
from barnabas.portable.allocator import keep_freed_memory

if sys.argv[1] == "keep":
    assert keep_freed_memory(32 * 1024 * 1024)

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for round in range(25):
    if round == 5:
        before = faults()
    [bytes(1024 * 1024) + b"x" for _ in range(10)]
print(faults() - before)
"""
PAGES = 20 * 10 * 1024 * 1024 // resource.getpagesize()


def page_faults(how: str) -> int:
    run = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    return int(run.stdout)


def test_buffers_reuse_the_pages_of_the_last_ones() -> None:
    assert page_faults("as it is") > PAGES / 2
    assert page_faults("keep") < PAGES / 100


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert not allocator.keep_freed_memory(1)
