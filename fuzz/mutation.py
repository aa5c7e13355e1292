"""Small mutations of valid bytes, for runs without atheris."""

import random
from typing import Final

_BYTES: Final = (0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF)
# Lengths and counts at their edges: 32 bits, varints, zigzag varints; some digits for files of text.
_PIECES: Final = (
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x00",
    b"-1",
    b"99999999999999999999",
    b"\n",
)


def mutate(data: bytes, rng: random.Random) -> bytes:
    mutated = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        position = rng.randrange(len(mutated) + 1)
        match rng.randrange(6):
            case 0:
                mutated[position : position + 1] = bytes((rng.randrange(256),))
            case 1:
                mutated[position : position + 1] = bytes((rng.choice(_BYTES),))
            case 2:
                piece = rng.choice(_PIECES)
                mutated[position : position + len(piece)] = piece
            case 3:
                mutated[position:position] = rng.choice(_PIECES)
            case 4:
                del mutated[position : position + rng.randint(1, 8)]
            case 5:
                del mutated[position:]
    return bytes(mutated)
