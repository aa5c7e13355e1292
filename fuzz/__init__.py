"""Fuzzing: every parser of bytes from outside, with malformed input.

`targets/` defines what is fuzzed and which errors are allowed; `python -m fuzz` (or `make fuzz SECONDS=60`) runs each
target under atheris, in its own process with a bound on memory and on the time of one input. `tests/fuzz` runs the same
targets on mutated seeds, without atheris, with every test run.
"""
