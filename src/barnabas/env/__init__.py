"""The outside world as parameters: clock, disk, randomness, workers. The simulated versions are in `testing`."""

from barnabas.env.clock import Clock, SystemClock, Timer
from barnabas.env.disk import Disk, File, RealDisk
from barnabas.env.file_range import FileRange
from barnabas.env.randomness import Random
from barnabas.env.workers import InlineWorkers, ThreadWorkers, Workers

__all__ = [
    "Clock",
    "Disk",
    "File",
    "FileRange",
    "InlineWorkers",
    "Random",
    "RealDisk",
    "SystemClock",
    "ThreadWorkers",
    "Timer",
    "Workers",
]
