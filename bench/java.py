"""Apache Kafka's own programs: its server, and the performance tools among its clients."""

import os


def java(heap_mb: int) -> list[str]:
    """The start of a command; the name of a class follows."""
    from interop.peers import Peers

    return ["java", f"-Xmx{heap_mb}M", "-cp", os.path.join(Peers().kafka_jars, "*")]
