"""The outside world as parameters: clock, disk, workers. The simulated versions are in `testing`."""

from barnabas.env.clock import Clock, SystemClock, Timer
from barnabas.env.disk import Disk, File, RealDisk
from barnabas.env.workers import InlineWorkers, ThreadWorkers, Workers

__all__ = ["Clock", "Disk", "File", "InlineWorkers", "RealDisk", "SystemClock", "ThreadWorkers", "Timer", "Workers"]
