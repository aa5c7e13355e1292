"""`python -m barnabas.testing.checker.clients SPEC`: run the client described by SPEC (JSON) until stdin ends."""

import importlib
import sys

import msgspec

from barnabas.testing.checker.clients.session import Session, Spec

ROLES = ("auditor", "member", "mover", "producer", "reader", "teller", "transactor")


def main() -> None:
    spec = msgspec.json.decode(sys.argv[1], type=Spec)
    if spec.role not in ROLES:
        raise SystemExit(f"no such role: {spec.role}; there are {', '.join(ROLES)}")
    session = Session(spec)
    session.watch_stdin()
    importlib.import_module(f"barnabas.testing.checker.clients.{spec.role}").run(session)


if __name__ == "__main__":
    main()
