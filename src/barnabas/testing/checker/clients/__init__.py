"""The clients of a run, each a process of its own: `python -m barnabas.testing.checker.clients SPEC`."""
