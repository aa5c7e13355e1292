"""Consumer groups of the classic protocol and the offsets they commit."""
