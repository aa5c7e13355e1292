"""`barnabas complete-names KIND LINE`: names of topics, groups or profiles, for completion scripts.

Errors print nothing: nobody wants to read one while typing. It ends after TIMEOUT_S even if a name server or a broker
does not answer.
"""

import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Final

from barnabas.cli.errors import CommandFailed

if TYPE_CHECKING:
    from barnabas.cli.wire_client import Cluster

COMMAND: Final = "complete-names"
TOPICS, GROUPS, PROFILES = "topics", "groups", "profiles"
KINDS: Final = (TOPICS, GROUPS, PROFILES)
TIMEOUT_S: Final = 1.5

_SERVERS: Final = ("-b", "--bootstrap-server")
_PROFILE: Final = ("--profile",)
_CLIENT_CONFIG: Final = ("-X", "--client-config")


def print_names(arguments: Sequence[str]) -> int:
    kind, line = (*arguments, "", "")[:2]
    if kind not in KINDS:
        return 1
    found: list[str] = []

    def find() -> None:
        try:
            found.extend(sorted(_find(kind, line)))
        except CommandFailed:
            return

    # In a thread, because the lookup of a host name has no timeout.
    finder = Thread(target=find, daemon=True)
    finder.start()
    finder.join(TIMEOUT_S)
    sys.stdout.write("".join(f"{name}\n" for name in tuple(found)))
    return 0


def _find(kind: str, line: str) -> Iterable[str]:
    if kind == PROFILES:
        from barnabas.cli.profiles import profile_names

        return profile_names()
    return _of_cluster(line, _topics if kind == TOPICS else _groups)


def _of_cluster(line: str, names: "Callable[[Cluster], Iterable[str]]") -> Iterable[str]:
    """Of the cluster that the line connects to."""
    from barnabas.cli.cluster_access import choose_access
    from barnabas.cli.wire_client import Cluster

    words = _split(line)
    servers, profile = ([*_values(words, flags), None][0] for flags in (_SERVERS, _PROFILE))
    access = choose_access(servers, profile, _values(words, _CLIENT_CONFIG))
    with Cluster(access.servers, timeout_s=TIMEOUT_S, properties=access.properties) as cluster:
        return names(cluster)


def _topics(cluster: "Cluster") -> Iterable[str]:
    return [name for name in cluster.topics() if not name.startswith("__")]


def _groups(cluster: "Cluster") -> Iterable[str]:
    from barnabas.cli.kafka.group_requests import list_all_groups

    return [group.group_id for group in list_all_groups(cluster)]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote is not closed yet
        return line.split()


def _values(words: Sequence[str], flags: Sequence[str]) -> list[str]:
    """`-b HOST`, `-b=HOST`; a flag at the end of the line has no value yet."""
    found = []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        flag, equals, value = word.partition("=")
        if flag in flags and (value if equals else following):
            found.append(value if equals else following)
    return found
