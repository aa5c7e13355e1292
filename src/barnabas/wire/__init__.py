"""Bytes to messages and back: frames, headers, the API table, errors, the kio adapter. No event loop in here."""

from barnabas.wire import kio_light as kio_light  # before anything in this room imports kio
