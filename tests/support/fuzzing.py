"""A hundred thousand bad inputs for a decoder: real messages bent, cut and joined, and plain noise.

`try_all` tells of a decoder that for every input it returns or raises what its documentation says,
that it ends (within pytest's limit), and that it keeps nothing. What fails is shown with its seed,
its number and its bytes.
Limit: blind. It does not look at what the decoder does with an input; messages worth bending, and
words worth putting in (`words`), are what leads it to the decoder's inner parts.

NETCLAIM_FUZZ_SEED=N makes other inputs than those of every day.
"""

import gc
import os
import random
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["Trial", "try_all"]

INPUTS: Final = 100_000
# Caches and pools fill while these are tried; after them a decoder has no reason to grow.
WARM_UP: Final = 20_000
# Objects of Python's that one may find more after the other 80,000: a decoder that keeps one object
# of every ten inputs is found. Caches of ours (1,024 addresses) and Python's own fill within it.
BLOCKS_MAX: Final = 8_000
# What C code keeps shows only here: a hundred bytes of each input are 8 MB. The allocator's own
# swing between two readings was below 2 MB.
MEMORY_MAX_BYTES: Final = 8 << 20

NOISE_SHARE: Final = 0.05  # noise seldom gets beyond a decoder's first question
NOISE_MAX: Final = 96  # bytes; longer than any header
LENGTH_MAX: Final = 1 << 12  # enough to nest beyond Python's limit of a thousand calls
# Where lengths, counts and signs turn over, in the widths that our protocols have.
EDGES: Final = tuple(
    number.to_bytes(width, order)
    for width in (1, 2, 4, 8)
    for order in ("little", "big")
    for number in {
        0, 1, 4, 5, 127, 128, (1 << 8 * width) - 1, (1 << 8 * width - 1) - 1, 1 << 8 * width - 1,
    }
    if number < 1 << 8 * width
)  # fmt: skip


def seed_of_today() -> int:
    """The seed: the same every day, unless somebody asks for another."""
    return int(os.environ.get("NETCLAIM_FUZZ_SEED", "20240611"))


def inputs(
    messages: Sequence[bytes], seed: int, words: Sequence[bytes] = (), count: int = INPUTS
) -> Iterator[bytes]:
    """Yield what is to be tried: each message as it is, then others made of them."""
    yield from messages
    chance = random.Random(seed)
    bends = (_flip, _flip, _edge, _edge, _cut, _drop, _double, _insert, _join, _word)
    for _ in range(count - len(messages)):
        if chance.random() < NOISE_SHARE:
            yield chance.randbytes(int(chance.random() * NOISE_MAX))
            continue
        data = bytearray(messages[int(chance.random() * len(messages))])
        while True:
            bend = bends[int(chance.random() * len(bends))]
            bend(data, chance, words or EDGES if bend is _word else messages)
            if chance.random() < 0.5:  # two bends on average
                break
        yield bytes(data[:LENGTH_MAX])


class Trial:
    """The inputs of one test, counted and watched: iterate over it, and `take` what is taken.

    Leaving the loop by its end checks that some inputs were taken, some were not, and that what
    tried them has kept nothing.
    """

    def __init__(self, messages: Sequence[bytes], words: Sequence[bytes] = ()) -> None:
        self._inputs = inputs(messages, seed_of_today(), words)
        self._number = 0
        self._now = b""
        self._taken = 0

    def __iter__(self) -> Iterator[bytes]:
        before = (0, 0)
        for data in self._inputs:
            self._number += 1
            self._now = data
            yield data
            if self._number == WARM_UP:
                before = _held()
        assert self._number == INPUTS
        assert 0 < self._taken < INPUTS, f"{self._taken} of {INPUTS} inputs were taken"
        blocks, memory = (now - then for now, then in zip(_held(), before, strict=True))
        assert blocks <= BLOCKS_MAX, f"{blocks} objects are kept after {self}"
        assert memory <= MEMORY_MAX_BYTES, f"{memory} bytes are kept after {self}"

    def __str__(self) -> str:
        return f"input {self._number} of NETCLAIM_FUZZ_SEED={seed_of_today()}: {self._now!r}"

    def take(self) -> None:
        """Count the present input as one that says something."""
        self._taken += 1

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Say of whatever is raised which input it was; of a hang too, whose limit is raised."""
        try:
            yield
        except BaseException as error:
            error.add_note(str(self))
            raise


def try_all(
    decode: Callable[[bytes], object],
    messages: Sequence[bytes],
    *,
    raises: type[Exception] | tuple[type[Exception], ...],
    words: Sequence[bytes] = (),
) -> None:
    """Try every input; `raises` is what the decoder says that it raises."""
    trial = Trial(messages, words)
    with trial.noted():
        for data in trial:
            try:
                decode(data)
            except raises:
                continue
            trial.take()


def _held() -> tuple[int, int]:
    """How many blocks Python has in use, and how many bytes the process has in memory."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1])
    return sys.getallocatedblocks(), resident * resource.getpagesize()


def _flip(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    """Change one bit, or all of a byte."""
    if data:
        place = int(chance.random() * len(data))
        data[place] ^= 1 << int(chance.random() * 8) if chance.random() < 0.5 else 0xFF


def _edge(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    """Write a number over what is there."""
    edge = EDGES[int(chance.random() * len(EDGES))]
    place = int(chance.random() * (len(data) + 1))
    data[place : place + len(edge)] = edge


def _cut(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    """End the message early."""
    del data[int(chance.random() * (len(data) + 1)) :]


def _drop(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    """Leave a piece out."""
    start = int(chance.random() * (len(data) + 1))
    del data[start : start + 1 + int(chance.random() * 16)]


def _double(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    """Say a piece again, behind itself: once mostly, and many times to nest or to repeat."""
    start = int(chance.random() * (len(data) + 1))
    piece = data[start : start + 1 + int(chance.random() ** 3 * 64)]
    times = 1 if chance.random() < 0.95 else int(chance.random() * 2000)
    data[start:start] = piece * min(times, LENGTH_MAX // (len(piece) or 1))


def _insert(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    """Put noise in."""
    place = int(chance.random() * (len(data) + 1))
    data[place:place] = chance.randbytes(1 + int(chance.random() * 8))


def _join(data: bytearray, chance: random.Random, messages: Sequence[bytes]) -> None:
    """Go on with the end of another message."""
    other = messages[int(chance.random() * len(messages))]
    del data[int(chance.random() * (len(data) + 1)) :]
    data += other[int(chance.random() * (len(other) + 1)) :]


def _word(data: bytearray, chance: random.Random, words: Sequence[bytes]) -> None:
    """Put in a word that the decoder knows, or in the place of as much."""
    word = words[int(chance.random() * len(words))]
    place = int(chance.random() * (len(data) + 1))
    data[place : place + (len(word) if chance.random() < 0.5 else 0)] = word
