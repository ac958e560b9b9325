"""The table that the first look prints."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import Client, span, wait
from spanwise.observed.questions import FineKey, FineMetrics
from spanwise.tests.file_module import module_of_file
from spanwise.tests.processes import wait_until

pytest.importorskip("pandas")

#: Numbers of the columns after the name, from the left.
FIGURES = ("tasks", "elapsed", "cpu", "off", "transfer", "other", "idle")


@pytest.fixture(scope="module")
def example(checkout: Path) -> ModuleType:
    """Return ``examples/first_look.py`` as a module."""
    return module_of_file("first_look_example", checkout / "examples" / "first_look.py")


def client_of(rows: dict[tuple[str, ...], tuple[int, ...]]) -> Any:
    """Return what ``summary`` asks of a client; each row has its figures, times in seconds."""
    spans = [
        SimpleNamespace(
            name=name, opened=at, start=at, stop=at + row[1], tasks=row[0], idle=float(row[6])
        )
        for at, (name, row) in enumerate(rows.items())
    ]

    def fine_metrics(span: tuple[str, ...], unit: str) -> FineMetrics:
        assert unit == "seconds"
        _, _, cpu, off, transfer, other, idle = rows[span]
        entries: dict[FineKey, float] = {
            ("execute", "f", "thread-cpu", unit): cpu,
            ("execute", "f", "thread-noncpu", unit): off,
            ("execute", "f", "transfer", unit): transfer / 2,
            ("execute", "g", "transfer", unit): transfer / 2,
            ("execute", "f", "deserialize", unit): other / 4,
            ("execute", "f", "import", unit): other * 3 / 4,
            # What held no thread, and what divides the same seconds once more.
            ("execute", "N/A", "idle or other spans", unit): idle,
            ("idle", "N/A", "scheduler", unit): idle,
            ("noncpu", "f", "blocked", unit): off,
            ("background", "f", "transfer", unit): 3.0,
            ("background", "f", "deserialize", unit): 5.0,
        }
        return FineMetrics(entries, {})

    return SimpleNamespace(spans=lambda: spans, fine_metrics=fine_metrics)


def tags() -> st.SearchStrategy[str]:
    """One column per character: letters, figures, spaces within."""
    return st.text("abcdefgh 0123456789", min_size=1, max_size=90).filter(str.strip)


def tables(deepest: int) -> st.SearchStrategy[dict[tuple[str, ...], tuple[int, ...]]]:
    """The rows of a table, whose names have so many tags at most."""
    return st.dictionaries(
        st.lists(tags(), min_size=1, max_size=deepest).map(tuple),
        st.tuples(st.integers(0, 99_999), *[st.integers(0, 9_999)] * 6),
        min_size=1,
        max_size=6,
    )


@given(tables(9))
def test_the_table_fits_80_columns_with_each_figure_below_its_word(
    example: ModuleType, rows: dict[tuple[str, ...], tuple[int, ...]]
) -> None:
    lines = example.summary(client_of(rows)).splitlines()
    assert max(map(len, lines)) <= 79
    above, words, rule, *rest = lines
    assert words.split() == ["span", "tasks", "elapsed", "CPU", "CPU", "transfer", "other", "idle"]
    # Each figure ends where its word ends.
    ends = [word.end() for word in re.finditer(r"\S+", words)][1:]
    assert len(ends) == len(FIGURES)
    assert above.rstrip().endswith("not on") and len(above.rstrip()) == ends[3]
    assert set(rule) == {"─"}
    shown = []
    for line in rest:
        if len(line) == len(words) and line[-3] == ".":
            starts = [24, *ends[:-1]]
            figures = [line[start:end] for start, end in zip(starts, ends, strict=True)]
            shown.append([float(figure.replace(",", "")) for figure in figures])
    assert sorted(shown) == sorted([float(figure) for figure in row] for row in rows.values())


def test_a_long_name_stands_above_its_figures(example: ModuleType) -> None:
    name = ("Alice", "a step that has a very long name indeed")
    lines = example.summary(client_of({name: (1, 2, 3, 4, 5, 6, 7)})).splitlines()
    assert [line[:24].rstrip() for line in lines[3:5]] == [
        "  a step that has a very",
        "  long name indeed",
    ]
    assert lines[3].strip() == "a step that has a very"
    assert lines[4].split()[-7:] == ["1", "2.00", "3.00", "4.00", "5.00", "6.00", "7.00"]


@given(tables(4))
def test_a_notebook_shows_the_same_figures(
    example: ModuleType, rows: dict[tuple[str, ...], tuple[int, ...]]
) -> None:
    table = example.table(client_of(rows)).data
    assert list(table.columns) == [
        "tasks",
        "elapsed",
        "CPU",
        "not on CPU",
        "transfer",
        "other",
        "idle",
    ]
    shown = [(label.lstrip("\xa0"), *figures) for label, *figures in table.itertuples()]
    assert sorted(shown) == sorted((name[-1], *figures) for name, figures in rows.items())
    # Each label is as far to the right as it has parents.
    depths = [(len(label) - len(label.lstrip("\xa0"))) / 4 for label in table.index]
    assert sorted(depths) == sorted(len(name) - 1 for name in rows)


def test_a_notebook_shows_a_plain_table_without_jinja2(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd

    def style(_: pd.DataFrame) -> None:
        raise AttributeError("The '.style' accessor requires jinja2")

    monkeypatch.setattr(pd.DataFrame, "style", property(style))
    table = example.table(client_of({("Alice",): (1, 2, 3, 4, 5, 6, 7)}))
    assert table.loc["Alice"].to_list() == [1, 2, 3, 4, 5, 6, 7]


def test_columns_are_the_seconds_of_the_spans_threads(example: ModuleType, tmp_path: Path) -> None:
    """By the spans' own sums, with transfers that no thread waited for; and against clocks."""
    begun, is_fetched = tmp_path / "begun", tmp_path / "fetched"

    def hold_the_thread() -> None:
        begun.touch()
        wait_until("inputs of others are fetched", is_fetched.exists)

    with Client(n_workers=2, threads_per_worker=1) as client:
        threads = 2
        here, there = sorted(client.scheduler_info()["workers"])
        with span("made"):
            blocks = client.map(np.ones, [1_000_000] * 4, workers=[here], pure=False)
        wait(blocks)
        with span("used"):
            first = client.submit(hold_the_thread, workers=[there], pure=False)
            wait_until("the thread is held", begun.exists)
            sums = client.map(np.sum, blocks, workers=[there], pure=False)
        wait_until(
            "all are fetched", lambda: all(len(x) == 2 for x in client.who_has(blocks).values())
        )
        is_fetched.touch()
        assert client.gather([first, *sums]) == [None, *[1_000_000] * 4]
        used = client.fine_metrics(span="used")
        behind = sum(each for key, each in used.items() if key[::3] == ("background", "seconds"))
        assert behind > 0, "something must have been fetched behind other work"
        listed = client.spans()
        once = SimpleNamespace(spans=lambda: listed, fine_metrics=client.fine_metrics)
        rows = example._rows(once)
        spans = {each.name: each for each in listed}
        assert [name for name, _, _ in rows] == [("made",), ("used",)]
        for name, _, (elapsed, *held, idle) in rows:
            info = spans[name]
            assert elapsed == info.stop - info.start
            assert sum(held) == pytest.approx(info.duration, abs=1e-9)
            assert idle == info.idle
            assert sum(held) + idle <= (info.stop - info.enqueued) * threads + 1e-5
            # What is more than elapsed leaves was idle before the first task began.
            ran = client.fine_metrics(span=name, start=info.start, stop=info.stop, unit="seconds")
            idle_since = ran["execute", "N/A", "idle or other spans", "seconds"]
            assert sum(held) + idle_since <= elapsed * threads + 1e-5
