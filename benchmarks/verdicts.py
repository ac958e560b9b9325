"""Whether a figure keeps its limit: what every benchmark is judged by.

A figure is the median of its samples, or the ratio of two medians. Its interval holds the true
median with a chance of 95 % where there are six samples or more, by their order alone (whatever
their distribution is); of fewer it is the least and the most. So a limit is

* kept (PASS) if the whole interval is within it,
* MISSED if the whole interval is beyond it, that is, by more than the spread,
* undecided (CANNOT_TELL) between the two.

Beside its limit, which is a promise, a tracked figure is compared with the one that was kept of
an earlier run (``benchmarks/results``): more than twice as bad is missed, too. So three times
the time turns a benchmark red that stays within a generous limit.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

PASS, CANNOT_TELL, MISSED = "pass", "cannot tell", "missed"
Verdict = Literal["pass", "cannot tell", "missed"]

#: A tracked figure may be so many times as bad as the one that was kept.
WORSE_THAN_KEPT = 2.0
#: Fewer samples than these show no spread: they are not compared with what was kept.
LEAST_TRACKED = 3
#: Chance that the interval of a median holds the true one.
CONFIDENCE = 0.95


class Interval:
    """Median, and between what it lies."""

    def __init__(self, low: float, middle: float, high: float) -> None:
        self.low, self.middle, self.high = low, middle, high

    @classmethod
    def of(cls, samples: Sequence[float]) -> Interval:
        """The median's, by the order of the samples.

        The true median lies below the k-th of n samples when fewer than k fell below it: with a
        chance of sum(C(n, i), i < k) / 2**n, and above the k-th last with the same.
        """
        ordered = sorted(samples)
        count = len(ordered)
        rank, outside = 0, 0.0
        while rank < (count + 1) // 2 - 1:
            outside += 2 * math.comb(count, rank) / 2**count
            if 1 - outside - 2 * math.comb(count, rank + 1) / 2**count < CONFIDENCE:
                break
            rank += 1
        return cls(ordered[rank], statistics.median(ordered), ordered[count - 1 - rank])

    def over(self, other: Interval) -> Interval:
        """The ratio's, at its widest: both may lie anywhere in their own."""
        return Interval(self.low / other.high, self.middle / other.middle, self.high / other.low)


@dataclass(frozen=True)
class Figure:
    """What a benchmark found.

    Attributes
    ----------
    row, column
        Where it stands in the table; both together are its name.
    better
        Whether less of it is better, or more.
    samples
        One value per round.
    over
        The samples below the line of a ratio; empty otherwise.
    limit
        What it must keep; None if nothing was promised.
    tracked
        Whether it is compared with the one that was kept of an earlier run: for times and for
        ratios of times, not for differences, which may be nearly nothing.
    """

    row: str
    column: str
    unit: str
    better: Literal["lower", "higher"]
    samples: tuple[float, ...]
    over: tuple[float, ...] = ()
    limit: float | None = None
    tracked: bool = False

    @classmethod
    def read(cls, found: dict[str, Any]) -> Figure:
        """Take one that a part has written.

        Raises
        ------
        ValueError
            It says what no figure can be.
        """
        figure = cls(**found | {key: tuple(found.get(key, ())) for key in ("samples", "over")})
        if figure.better not in ("lower", "higher"):
            raise ValueError(f"{figure.name}: better is {figure.better!r}: lower or higher?")
        if not figure.samples:
            raise ValueError(f"{figure.name} has no samples.")
        if not all(map(math.isfinite, figure.samples + figure.over)):
            raise ValueError(f"{figure.name} has samples that are no numbers: {figure}")
        if figure.over and min(figure.samples + figure.over) <= 0:
            raise ValueError(f"{figure.name}: a ratio needs samples above 0: {figure}")
        return figure

    @property
    def name(self) -> str:
        return f"{self.row}: {self.column}"

    @property
    def interval(self) -> Interval:
        samples = Interval.of(self.samples)
        return samples.over(Interval.of(self.over)) if self.over else samples


def judge(interval: Interval, better: str, limit: float) -> Verdict:
    """Whether a limit is kept."""
    best, worst = (
        (interval.low, interval.high)
        if better == "lower"
        else (
            -interval.high,
            -interval.low,
        )
    )
    bound = limit if better == "lower" else -limit
    return PASS if worst <= bound else MISSED if best > bound else CANNOT_TELL


def limit_from(kept: Figure) -> float:
    """The worst that a figure may be beside one that was kept."""
    middle = kept.interval.middle
    return middle * WORSE_THAN_KEPT if kept.better == "lower" else middle / WORSE_THAN_KEPT


def against_kept(figure: Figure, kept: Figure | None, are_times_comparable: bool) -> Verdict | None:
    """Whether a figure is about what it was; None if that cannot be compared.

    On another machine, or under another load, only ratios are, of which both sides ran there.
    """
    if kept is None or not figure.tracked or len(figure.samples) < LEAST_TRACKED:
        return None
    if not are_times_comparable and not figure.over:
        return None
    return judge(figure.interval, figure.better, limit_from(kept))


def worst_of(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst; PASS of none."""
    order: tuple[Verdict, ...] = (MISSED, CANNOT_TELL)
    return next((each for each in order if each in verdicts), PASS)
