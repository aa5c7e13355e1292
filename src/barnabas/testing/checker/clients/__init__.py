"""The clients of a run, each in its own process: `python -m barnabas.testing.checker.clients SPEC`."""
