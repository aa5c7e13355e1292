"""How a simulated run can fail."""


class SimulationError(Exception):
    """The run failed; its notes have the seed and the last steps."""


class Deadlock(SimulationError):
    """Nothing is ready and no timer is set, so nothing can ever happen again."""


class TimeLimitReached(SimulationError):
    """The scenario was not over after the virtual time it was given."""


class UnhandledException(SimulationError):
    """A callback, a task or a service raised, and nobody handled it."""


class NodeStopped(Exception):
    """The node stopped while something ran on it for another node."""


class ProcessEnded(BaseException):
    """Raised in code of a process that has ended: nothing it does has an effect any more.

    A BaseException, because no `except Exception` survives a kill either.
    """
