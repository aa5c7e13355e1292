"""Fuzzing: every reader of bytes that somebody else wrote, fed with bytes that nobody should have written.

`targets/` says what is fuzzed and which errors are allowed; `python -m fuzz` (or `make fuzz SECONDS=60`) runs each
under atheris, in a process of its own with a bound on memory and on the time of one input. The same targets run on
mutated seeds in `tests/fuzz`, without atheris, with every test run.
"""
