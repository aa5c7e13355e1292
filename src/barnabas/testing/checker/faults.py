"""The names of the faults of a run, and of the defects that can be built into a broker."""

from typing import Final

FAULTS: Final = ("kill-broker", "pause-broker", "kill-client", "pause-client")
BROKEN: Final = ("acks-before-appending", "forgets-producers", "reads-past-last-stable-offset", "answers-late")
