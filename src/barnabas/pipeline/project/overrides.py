"""Applies a profile (`--profile prod`) and flags (`--set log.bootstrap=...`) to the file.

Later ones win: the file, the profile, the flags in their order. Mappings of a profile are merged with those of the
file, except for outputs, since a flow has only one; anything else, and whatever a flag names, is replaced.
"""

from collections.abc import Mapping, Sequence

from barnabas.pipeline.project.nodes import Entries, Node, NotYaml, Scalar, parse
from barnabas.pipeline.project.problems import Document, Place, Report
from barnabas.spark.options.names import nearest

PROFILES = "profiles"


def with_profile(root: Entries, profile: str | None, report: Report) -> Entries:
    """The tree without its profiles, with one of them applied."""
    rest = Entries(root.place, {name: entry for name, entry in root.entries.items() if name != PROFILES})
    found = root.entries.get(PROFILES)
    profiles: Mapping[str, tuple[Scalar, Node]] = {}
    if found is not None:
        if not isinstance(found[1], Entries):
            report.add(found[1].place, f"`profiles` must be a mapping, not {found[1].kind}", _PROFILE_HINT)
            return rest
        profiles = found[1].entries
        for _, value in profiles.values():
            if not isinstance(value, Entries):
                report.add(value.place, f"a profile must be a mapping, not {value.kind}", _PROFILE_HINT)
    if profile is None:
        return rest
    if profile not in profiles:
        flag = Document(f"--profile {profile}", profile, is_flag=True)
        guess = nearest(profile, profiles)
        known = f"did you mean `{guess}`?" if guess else "add it under `profiles:`, or leave the flag out"
        report.add(flag.place(0, len(profile)), f"there is no profile `{profile}`", known)
        return rest
    value = profiles[profile][1]
    return merged(rest, value) if isinstance(value, Entries) else rest


_PROFILE_HINT = "write `profiles: {prod: {log: {bootstrap: kafka:9092}}}`"


def with_flags(root: Entries, flags: Sequence[str], environment: Mapping[str, str], report: Report) -> Entries:
    for text in flags:
        flag = Document(f"--set {text}", text, is_flag=True)
        path, equals, _ = text.partition("=")
        steps = path.split(".")
        if not equals or not all(steps):
            report.add(flag.place(0, len(path)), "not a setting", "write --set log.bootstrap=kafka:9092")
            continue
        # The rest of the path may be one key: --set log.options.kafka.client.id=x
        steps = _steps(steps)
        try:
            value = parse(flag, environment, report, offset=len(path) + 1)
        except NotYaml:
            continue
        root = _put(root, steps, flag.place(0, len(path)), value)
    return root


def _put(root: Entries, steps: Sequence[str], place: Place, value: Node) -> Entries:
    key = Scalar(place, steps[0], "text")
    if len(steps) > 1:
        below = root.entries.get(steps[0])
        inner = below[1] if below is not None and isinstance(below[1], Entries) else Entries(place, {})
        key = below[0] if below is not None else key
        value = _put(inner, steps[1:], place, value)
    return Entries(root.place, {**root.entries, steps[0]: (key, value)})


def merged(below: Entries, above: Entries) -> Entries:
    entries = dict(below.entries)
    for name, (key, value) in above.entries.items():
        old = entries.get(name)
        if old is not None and isinstance(old[1], Entries) and isinstance(value, Entries) and name not in _WHOLE:
            entries[name] = old[0], merged(old[1], value)
        else:
            entries[name] = key, value
    return Entries(below.place, entries)


_WHOLE = ("output",)

_FREE = ("options", "format_options", "conf")
"""Keys of mappings whose names contain dots."""


def _steps(steps: list[str]) -> list[str]:
    for index, step in enumerate(steps):
        if step in _FREE and index + 1 < len(steps):
            return [*steps[: index + 1], ".".join(steps[index + 1 :])]
    return steps
