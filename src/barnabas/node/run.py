"""Runs one broker until SIGTERM or SIGINT."""

import asyncio
import logging
import signal
from collections.abc import Callable

import uvloop

from barnabas import __version__
from barnabas.env import Disk, SystemClock
from barnabas.node.broker_node import BrokerNode
from barnabas.node.garbage import collect_after_growth, disable_full_collections, peak_bytes
from barnabas.portable.open_file_limit import raise_open_file_limit

logger = logging.getLogger(__name__)

KEPT_BYTES = 32 * 1024 * 1024
"""Freed memory that is kept for the next answers: two of the largest ones (`handlers.fetch.ANSWER_BYTES_MAX`)."""


def run_broker(properties: dict[str, str], *, announce: Callable[[str], None], disk: Disk | None = None) -> int:
    """Blocks until SIGTERM or SIGINT, then closes cleanly. The exit status; StartError if it cannot start."""
    raise_open_file_limit()
    return uvloop.run(_run(properties, announce, disk))


async def _run(properties: dict[str, str], announce: Callable[[str], None], disk: Disk | None) -> int:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    node = BrokerNode(properties, disk=disk)
    await node.start()
    disable_full_collections()
    collecting = asyncio.ensure_future(collect_after_growth(SystemClock(), peak_bytes))
    where = " and ".join(node.addresses)
    announce(f"Barnabas {__version__} is ready on {where} (data in {', '.join(node.data_dirs)})")
    _keep_freed_memory()
    stop = asyncio.ensure_future(stopped.wait())
    failure = asyncio.ensure_future(node.failed())
    await asyncio.wait([stop, failure], return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    collecting.cancel()
    await node.stop()
    if failure.done():
        logger.critical("the broker stopped: %s", failure.result())
        return 1
    failure.cancel()
    return 0


def _keep_freed_memory() -> None:
    """Once the broker is ready: the import takes milliseconds."""
    from barnabas.portable.allocator import keep_freed_memory

    keep_freed_memory(KEPT_BYTES)
