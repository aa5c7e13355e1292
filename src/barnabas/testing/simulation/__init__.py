"""A whole cluster in one thread, on virtual time, from one seed: see `docs/testing.md`."""

from barnabas.testing.simulation.broker import SimulatedBroker
from barnabas.testing.simulation.client import Client
from barnabas.testing.simulation.errors import (
    Deadlock,
    NodeStopped,
    SimulationError,
    TimeLimitReached,
    UnhandledException,
)
from barnabas.testing.simulation.faults import Fault, FaultPlan
from barnabas.testing.simulation.loop import SimulatedLoop
from barnabas.testing.simulation.network import Network
from barnabas.testing.simulation.node import SimulatedNode
from barnabas.testing.simulation.simulation import Simulation

__all__ = [
    "Client",
    "Deadlock",
    "Fault",
    "FaultPlan",
    "Network",
    "NodeStopped",
    "SimulatedBroker",
    "SimulatedLoop",
    "SimulatedNode",
    "Simulation",
    "SimulationError",
    "TimeLimitReached",
    "UnhandledException",
]
