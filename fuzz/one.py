"""Fuzzes one target under atheris in this process: `python -m fuzz.one NAME [libFuzzer's options] CORPUS`."""

import sys

import atheris

with atheris.instrument_imports(include=["barnabas"]):
    from fuzz.targets import TARGETS


def main() -> None:
    target = TARGETS[sys.argv[1]]
    for reader in target.readers():
        atheris.instrument_func(reader)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
