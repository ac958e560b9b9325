"""Programs with arrays, drawn at random: what Dask's users do with blocks, step after step."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed

#: Cells along each axis, so that any two arrays can be added.
SIDE = 12


def scaled(block: Any, factor: int = 2, *, more: int = 0) -> Any:
    """A function of a block with literals."""
    return block * factor + more


def placed(block: Any, block_id: Any = None) -> Any:
    """A function of a block that asks where it lies."""
    return block + sum(block_id)


def neighbours(block: Any) -> Any:
    """Each cell and those beside it."""
    return block + np.roll(block, 1, 0) - np.roll(block, -1, -1)


def joined(left: Any, right: Any, number: int) -> Any:
    """Two blocks and a literal."""
    return left * number + right.T


def of_rows(blocks: Any, number: int) -> Any:
    """The blocks of a row, in a list, and a literal."""
    return sum(each.sum() * place for place, each in enumerate(blocks, number)).reshape(1)


def given_rows(block: Any) -> Any:
    """The sums of a block's rows."""
    return block.sum(axis=1)


def block_of(number: int) -> Any:
    """What a delayed call makes for a block."""
    return np.arange(SIDE * 4).reshape(4, SIDE) % (number + 5)


def _chunks(chance: random.Random) -> Any:
    return chance.choice([3, 4, 5, 6, 12, (4, 6), (12, 3), ((1, 5, 6), (2, 4, 6))])


def _array(chance: random.Random) -> Any:
    kind = chance.randrange(5)
    if kind == 0:
        values = np.arange(SIDE * SIDE).reshape(SIDE, SIDE) % chance.randint(5, 99)
        return da.from_array(values, chunks=_chunks(chance))
    if kind == 1:
        values = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
        inline = chance.random() < 0.5
        return da.from_array(values, chunks=_chunks(chance), inline_array=inline, asarray=True)
    if kind == 2:
        return da.ones((SIDE, SIDE), chunks=_chunks(chance), dtype=int) * chance.randint(1, 3)
    if kind == 3:
        first = chance.randint(0, 3)
        blocks = [delayed(block_of)(first + number) for number in range(3)]
        return da.concatenate([da.from_delayed(each, (4, SIDE), dtype=int) for each in blocks])
    return da.arange(SIDE * SIDE, chunks=SIDE * 2).reshape(SIDE, SIDE)


def _overlap(chance: random.Random, array: Any) -> Any:
    depth = chance.choice([1, {0: 1, 1: 0}, {0: 2, 1: 1}, {0: 0, 1: 1}])
    boundary = chance.choice(["periodic", "reflect", "nearest", "none", 0])
    return array.map_overlap(neighbours, depth=depth, boundary=boundary, dtype=int)


def _blockwise(chance: random.Random, array: Any) -> Any:
    number = chance.randint(1, 4)
    square = array.rechunk((4, 4))
    if chance.random() < 0.4:
        sums = da.blockwise(
            of_rows, "i", square, "ij", number, None, dtype=int, adjust_chunks={"i": 1}
        )
        return square + sums.sum()
    if chance.random() < 0.3:
        return square + da.blockwise(given_rows, "i", square, "ij", dtype=int, concatenate=True)
    other = square if chance.random() < 0.5 else square + number
    return da.blockwise(joined, "ij", square, "ij", other, "ji", number, None, dtype=int)


def _cut(chance: random.Random, array: Any) -> Any:
    """A part of an array, in its shape again."""
    at, to = sorted(chance.sample(range(SIDE + 1), 2))
    part = array[at:to] if chance.random() < 0.5 else array[:, at:to]
    return (
        array + part.sum()
        if chance.random() < 0.5
        else da.pad(array[at:to], ((at, SIDE - to), (0, 0)), mode="constant")
    )


#: A step from an array, and maybe a second one, to an array of the same shape.
STEPS: list[Callable[[random.Random, Any, Any], Any]] = [
    lambda chance, one, other: one + other,
    lambda chance, one, other: one * 2 - other.T,
    lambda chance, one, other: one.dot(other) % 1009,
    lambda chance, one, other: one @ one.T % 1009,
    lambda chance, one, other: da.where(one > other, one, chance.randint(0, 9)),
    lambda chance, one, other: _overlap(chance, one) % 1009,
    lambda chance, one, other: _overlap(chance, one) % 1009,
    lambda chance, one, other: one.rechunk(_chunks(chance)),
    lambda chance, one, other: one.map_blocks(scaled, 3, more=chance.randint(0, 2), dtype=int),
    lambda chance, one, other: one.map_blocks(placed, dtype=int),
    lambda chance, one, other: one - one.sum(axis=chance.randint(0, 1), keepdims=True),
    lambda chance, one, other: da.concatenate([one[: SIDE // 2], other[SIDE // 2 :]]),
    lambda chance, one, other: da.stack([one, other, one]).max(axis=0),
    lambda chance, one, other: one.reshape(SIDE * SIDE).reshape(SIDE, SIDE),
    lambda chance, one, other: one[[chance.randrange(SIDE) for _ in range(SIDE)]],
    lambda chance, one, other: one[::-1],
    lambda chance, one, other: _blockwise(chance, one),
    lambda chance, one, other: _cut(chance, one),
    lambda chance, one, other: one + da.from_delayed(delayed(int)(3), (), dtype=int),
    lambda chance, one, other: one.cumsum(axis=0) % 1009,
]


def drawn_array(seed: int, most: int = 6) -> Any:
    """A program; the same for the same seed."""
    chance = random.Random(seed)
    made = [_array(chance) for _ in range(chance.randint(1, 3))]
    for _ in range(chance.randint(1, most)):
        step = chance.choice(STEPS)
        made.append(step(chance, chance.choice(made[-2:]), chance.choice(made)))
    ends: list[Callable[[Any], Any]] = [
        lambda array: array,
        lambda array: array.sum(),
        lambda array: array.mean(axis=0),
        lambda array: array[:5, 2:3],
        lambda array: array[3, 3],
    ]
    return chance.choice(ends)(made[-1])
