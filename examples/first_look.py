"""A first look at Spanwise: two people's work on one cluster, told apart by spans.

    python first_look.py            about half a minute, then a table with a row per span
    python first_look.py --quick    the same on a tenth of the data

Alice loads sensor readings, cleans them, makes features and trains a model; Bob counts
what the sensors logged. The notebook first-look.ipynb does the same cell by cell, with
the panels beside it.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd

from spanwise import Client, MemorySampler, span

SENSORS = 24
FOLDS = 16
LEVELS = ("info", "warning", "error")


# -- what the tasks do ------------------------------------------------------


def read_day(day: int, rows: int) -> pd.DataFrame:
    """Readings of one day; the pause stands for a disk or a network."""
    time.sleep(0.4)
    rng = np.random.default_rng(day)
    frame = pd.DataFrame(
        {
            "day": day,
            "sensor": rng.integers(0, SENSORS, rows),
            "value": rng.normal(20, 5, rows),
            "humidity": rng.uniform(20, 80, rows),
        }
    )
    frame.loc[rng.integers(0, rows, rows // 50), "value"] = np.nan
    return frame


def calibration() -> pd.DataFrame:
    """Offset and gain of every sensor."""
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "sensor": np.arange(SENSORS),
            "offset": rng.normal(0, 0.5, SENSORS),
            "gain": rng.normal(1, 0.05, SENSORS),
        }
    )


def smooth(block: np.ndarray) -> np.ndarray:
    """A moving average along the first axis."""
    kernel = np.ones(9) / 9
    return np.apply_along_axis(np.convolve, 0, block, kernel, mode="same")


def fit_fold(features: np.ndarray, fold: int, steps: int) -> np.ndarray:
    """Train on all rows but those of one fold, by plain gradient descent."""
    keep = np.arange(len(features)) % FOLDS != fold
    x, y = features[keep][:, :-1], features[keep][:, -1]
    weights = np.zeros(x.shape[1])
    for _ in range(steps):
        weights -= 0.1 * x.T @ (x @ weights - y) / len(x)
    return weights


def score_fold(features: np.ndarray, weights: np.ndarray, fold: int) -> float:
    """Mean squared error on the fold that was left out."""
    left_out = np.arange(len(features)) % FOLDS == fold
    x, y = features[left_out][:, :-1], features[left_out][:, -1]
    return float(np.mean((x @ weights - y) ** 2))


def log_lines(day: int, count: int) -> list[str]:
    """What the sensors logged on one day."""
    rng = np.random.default_rng(1000 + day)
    return [
        f"{LEVELS[level]} sensor-{sensor} day-{day}"
        for level, sensor in zip(
            rng.integers(0, 3, count), rng.integers(0, SENSORS, count), strict=True
        )
    ]


# -- Alice and Bob ----------------------------------------------------------


def load(days: int, rows: int) -> dd.DataFrame:
    """All readings, kept on the cluster."""
    with span("data load"):
        readings = dd.from_map(
            read_day, range(days), rows=rows, meta=read_day(0, 50), enforce_metadata=False
        )
        return readings.persist()


def clean(readings: dd.DataFrame) -> tuple[dd.DataFrame, pd.DataFrame]:
    """Calibrated readings, and the statistics of every sensor."""
    with span("clean"):
        sensors = dd.from_pandas(calibration(), npartitions=1)
        calibrated = readings.fillna({"value": 20.0}).merge(sensors, on="sensor")
        calibrated = calibrated.assign(
            value=(calibrated.value - calibrated.offset) * calibrated.gain
        )
        calibrated = calibrated[["sensor", "value", "humidity"]].persist()
        statistics = calibrated.groupby("sensor").value.agg(["mean", "std", "count"]).compute()
        return calibrated, statistics


def make_features(calibrated: dd.DataFrame, chunk_rows: int) -> da.Array:
    """Standardised, smoothed readings with their products, and a target in the last column."""
    with span("features"):
        values = calibrated[["value", "humidity"]].to_dask_array(lengths=True)
        values = values.rechunk((chunk_rows, -1))
        scaled = (values - values.mean(axis=0)) / values.std(axis=0)
        smoothed = scaled.map_overlap(smooth, depth=(8, 0), boundary="reflect")
        pieces = [scaled, smoothed, scaled[:, :1] * scaled[:, 1:]]
        target = (scaled[:, :1] * 0.7 - scaled[:, 1:] * 0.2) + smoothed[:, :1] * 0.1
        return da.concatenate([*pieces, target], axis=1).rechunk((chunk_rows, -1)).persist()


def train(client: Client, features: da.Array, folds: int, steps: int) -> list[float]:
    """Errors of every fold: futures for the fits, a delayed sum over the scores."""
    with span("Model training"):
        with span("fit"):
            sample = client.compute(features[:: max(1, features.shape[0] // 30_000)])
            fits = client.map(fit_fold, [sample] * folds, range(folds), [steps] * folds, pure=False)
        with span("score"):
            scores = [dask.delayed(score_fold)(sample, fit, fold) for fold, fit in enumerate(fits)]
            return list(dask.compute(*scores))


def count_log(days: int, lines: int) -> dict[str, int]:
    """How often each level was logged."""
    with span("data load"):
        log = db.from_sequence(range(days), npartitions=days).map(log_lines, lines).flatten()
    with span("levels"):
        levels = log.map(str.split).map(lambda words: words[0])
        return dict(levels.frequencies().compute())


def alice(client: Client, sampler: MemorySampler, scale: float) -> dict[str, Any]:
    """Load, preprocess, train; the features twice, in small and in large chunks."""
    days, rows = max(4, int(24 * scale)), max(2_000, int(60_000 * scale))
    with span("Alice's workflow"):
        readings = load(days, rows)
        with span("ML preprocessing"):
            calibrated, statistics = clean(readings)
            total = days * rows
            with sampler.sample("small chunks", interval=0.1):
                features = make_features(calibrated, chunk_rows=max(500, total // 64))
                width = features.sum(axis=1).std().compute()
            with sampler.sample("large chunks", interval=0.1):
                features = make_features(calibrated, chunk_rows=max(2_000, total // 8))
                width = features.sum(axis=1).std().compute()
        errors = train(client, features, folds=FOLDS, steps=int(600 * scale) + 20)
    return {"sensors": len(statistics), "width": float(width), "errors": errors}


def bob(scale: float) -> dict[str, int]:
    """Count the log; a span of his own, on the same cluster."""
    with span("Bob's workflow"):
        return count_log(days=12, lines=max(500, int(60_000 * scale)))


# -- the table ----------------------------------------------------------------


# What a terminal has room for.
COLUMNS = 79
NAME = 24
NOTES = (
    "elapsed: seconds from when a span's first task began until its last ended, with pauses; "
    "the others: seconds of all threads, added up. not on CPU: a task held its thread and did "
    "not compute: it waited for a core, the GIL or a file, or slept. transfer: a thread waited "
    "for it. other: importing modules, which a worker's first tasks do, (de)serialising, disk. "
    "idle: no task ran on a thread, shared among the spans whose tasks were not done; from "
    "when a span's first task was submitted, so the columns together may be more than elapsed "
    "× threads. A span's figures include those of the spans inside it; a fused task counts "
    "once."
)


def summary(client: Client) -> str:
    """The table as text, in no more than ``COLUMNS`` columns, and what its words mean."""
    lines = [
        f"{'':<{NAME}}{'':>7}{'':>8}{'':>8}{'not on':>8}",
        _row("span", ["tasks", "elapsed", "CPU", "CPU", "transfer", "other", "idle"]),
        "─" * COLUMNS,
    ]
    for name, tasks, seconds in _rows(client):
        *above, last = _label(name)
        lines += [*above, _row(last, [f"{tasks:,}", *(f"{each:.2f}" for each in seconds)])]
    return "\n".join([*lines, textwrap.fill(NOTES, COLUMNS)])


def table(client: Client) -> Any:
    """The table as a notebook shows it best, spans indented below their parents."""
    rows = _rows(client)
    indent = "\N{NO-BREAK SPACE}" * 4
    frame = pd.DataFrame(
        [[tasks, *seconds] for _, tasks, seconds in rows],
        columns=["tasks", "elapsed", "CPU", "not on CPU", "transfer", "other", "idle"],
        index=[indent * (len(name) - 1) + name[-1] for name, _, _ in rows],
    )
    try:
        styled = frame.style.format(precision=2, thousands=",", escape="html")
    except (AttributeError, ImportError):
        return frame.round(2)  # pandas needs jinja2 for more
    # JupyterLab puts labels at the right, where an indent does not show.
    return styled.format_index(escape="html").map_index(lambda _: "text-align: left")


def _rows(client: Client) -> list[tuple[tuple[str, ...], int, list[float]]]:
    """Per span its tags, its tasks, and the seconds of the six columns.

    Spans of one name (each ``with`` opens a new one) share a row.
    """
    by_name: dict[tuple[str, ...], list[Any]] = {}
    for each in client.spans():
        if each.name:  # else it is the script, or the notebook or its cell
            by_name.setdefault(each.name, []).append(each)
    rows = []
    for name in sorted(by_name, key=lambda name: _place(name, by_name)):
        spans = by_name[name]
        # What was fetched behind other work took no thread's time; no second is counted twice.
        held = client.fine_metrics(span=name, unit="seconds").by_activity(context="execute")
        starts = [each.start for each in spans if each.start is not None]
        stops = [each.stop for each in spans if each.stop is not None]
        elapsed = max(stops) - min(starts) if starts else 0.0
        idle = sum(each.idle or 0.0 for each in spans)
        shown = [held.get(each, 0.0) for each in ("thread-cpu", "thread-noncpu", "transfer")]
        # Mostly importing: a worker's first task imports what it needs.
        other = sum(held.values()) - sum(shown)
        rows.append((name, sum(each.tasks for each in spans), [elapsed, *shown, other, idle]))
    return rows


def _row(label: str, figures: list[str]) -> str:
    """A label and its seven figures, at the right of their columns."""
    widths = (7, 8, 8, 8, 9, 7, 8)
    return f"{label:<{NAME}}" + "".join(
        f"{figure:>{width}}" for figure, width in zip(figures, widths, strict=True)
    )


def _label(name: tuple[str, ...]) -> list[str]:
    """A span's tag below its parents'; the lines that a long one takes."""
    indent = "  " * min(len(name) - 1, 6)
    width = NAME - len(indent)
    return [indent + line for line in textwrap.wrap(name[-1], width) or [""]]


def _place(name: tuple[str, ...], by_name: dict[tuple[str, ...], list[Any]]) -> list[float]:
    """Sorts spans below their parents, in the order in which they were first opened."""
    return [
        min((each.opened for each in by_name.get(name[: depth + 1], ())), default=0.0)
        for depth in range(len(name))
    ]


def main() -> None:
    """Run both workflows and print what was found and where the time went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    scale = 0.1 if options.quick else 1.0
    sampler = MemorySampler()
    started = time.perf_counter()
    with Client(
        n_workers=options.workers, threads_per_worker=options.threads, name="first-look"
    ) as client:
        print(client)
        found = alice(client, sampler, scale)
        levels = bob(scale)
        elapsed = time.perf_counter() - started
        counted = ", ".join(f"{level} {count:,}" for level, count in sorted(levels.items()))
        print(
            f"{found['sensors']} sensors, feature width {found['width']:.3f}, "
            f"errors {min(found['errors']):.2e} … {max(found['errors']):.2e}\n"
            f"log: {counted}"
        )
        for label, samples in sampler.samples.items():
            peak = max(nbytes for _, nbytes in samples) / 2**20
            print(f"memory with {label}: peak {peak:,.0f} MiB over {len(samples)} samples")
        print(f"\n{summary(client)}\n\n{elapsed:.1f} s in all")


if __name__ == "__main__":
    main()
