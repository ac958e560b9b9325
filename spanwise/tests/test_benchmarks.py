"""What benchmarks are judged by turns red when it must, and what is published is what was kept."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.tests.checkout import CHECKOUT

if not (CHECKOUT / "benchmarks").exists():
    pytest.skip("needs files of the checkout", allow_module_level=True)
# At the end: where a wheel is installed, `spanwise` stays the installed one.
sys.path.append(str(CHECKOUT))
try:
    from benchmarks import __main__ as runner
    from benchmarks import records, tables
    from benchmarks.verdicts import (
        CANNOT_TELL,
        CONFIDENCE,
        MISSED,
        PASS,
        Figure,
        Interval,
        against_kept,
        judge,
    )
finally:
    sys.path.remove(str(CHECKOUT))

BETTER = st.sampled_from(["lower", "higher"])
TIMES = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=40)
#: Samples whose spread is no more than a fifth.
CLOSE = st.lists(st.floats(1.0, 1.2), min_size=3, max_size=20)
RECORDS = sorted(records.RESULTS.glob("*.json"))
ORDER = (PASS, CANNOT_TELL, MISSED)


def figure(samples: list[float], better: str = "lower", **rest: Any) -> Figure:
    return Figure.read(
        {"row": "work", "column": "time", "unit": "ms", "better": better, "samples": samples} | rest
    )


# ── the verdict ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", range(1, 60))
def test_the_interval_holds_the_median_with_its_confidence_and_is_no_wider(count: int) -> None:
    interval = Interval.of(range(count))
    rank = int(interval.low)
    assert interval.high == count - 1 - rank

    def chance(rank: int) -> float:
        """That the true median lies between these two: at least rank + 1 samples on each side."""
        return sum(math.comb(count, below) for below in range(rank + 1, count - rank)) / 2**count

    if count >= 6:
        assert chance(rank) >= CONFIDENCE > chance(rank + 1)
    else:
        assert rank == 0


@given(TIMES)
def test_the_interval_lies_within_the_samples_and_around_the_median(samples: list[float]) -> None:
    interval = Interval.of(samples)
    assert min(samples) <= interval.low <= interval.middle <= interval.high <= max(samples)


@given(TIMES, BETTER, st.floats(1e-3, 1e6))
def test_what_is_wholly_within_passes_and_what_is_wholly_beyond_is_missed(
    samples: list[float], better: str, limit: float
) -> None:
    is_within = [each <= limit if better == "lower" else each >= limit for each in samples]
    verdict = judge(figure(samples, better).interval, better, limit)
    if all(is_within):
        assert verdict == PASS
    if not any(is_within):
        assert verdict == MISSED
    if verdict == MISSED:
        assert sum(is_within) < len(samples) / 2


@given(TIMES, st.floats(1e-3, 1e6))
def test_less_and_more_are_judged_alike(samples: list[float], limit: float) -> None:
    mirrored = figure([-each for each in samples], "higher")
    assert judge(figure(samples).interval, "lower", limit) == judge(
        mirrored.interval, "higher", -limit
    )


@given(TIMES, BETTER, st.floats(1e-3, 1e6), st.floats(1.0, 10.0))
def test_what_is_worse_is_not_judged_better(
    samples: list[float], better: str, limit: float, factor: float
) -> None:
    worse = [each * factor if better == "lower" else each / factor for each in samples]
    before, after = (
        judge(figure(each, better).interval, better, limit) for each in (samples, worse)
    )
    assert ORDER.index(after) >= ORDER.index(before)


@given(TIMES, TIMES)
def test_a_ratio_lies_between_its_extremes(samples: list[float], over: list[float]) -> None:
    interval = figure(samples, over=over).interval
    least, most = min(samples) / max(over), max(samples) / min(over)
    assert least <= interval.low <= interval.middle <= interval.high <= most


@pytest.mark.parametrize(
    ("samples", "better", "limit", "verdict"),
    [
        ([90, 95, 99], "lower", 100, PASS),
        ([90, 95, 101], "lower", 100, CANNOT_TELL),
        ([99, 105, 110], "lower", 100, CANNOT_TELL),
        ([101, 105, 110], "lower", 100, MISSED),
        ([11, 12, 13], "higher", 10, PASS),
        ([9, 12, 13], "higher", 10, CANNOT_TELL),
        ([8, 9, 9.5], "higher", 10, MISSED),
        # One stray of seven does not count, of five it does.
        ([1, 1, 1, 1, 1, 1, 1, 1, 50], "lower", 2, PASS),
        ([1, 1, 1, 1, 50], "lower", 2, CANNOT_TELL),
        ([0], "lower", 0, PASS),
        ([1], "lower", 0, MISSED),
    ],
)
def test_examples(samples: list[float], better: str, limit: float, verdict: str) -> None:
    assert judge(figure(samples, better).interval, better, limit) == verdict


@given(CLOSE, CLOSE, st.floats(1e-3, 1e5))
def test_three_times_the_time_of_what_was_kept_is_missed(
    before: list[float], now: list[float], scale: float
) -> None:
    kept = figure([scale * each for each in before], tracked=True)
    assert against_kept(figure([scale * each for each in now], tracked=True), kept, True) == PASS
    slower = figure([3 * scale * each for each in now], tracked=True)
    assert against_kept(slower, kept, are_times_comparable=True) == MISSED


@given(CLOSE, CLOSE, CLOSE, CLOSE, st.floats(1e-2, 1e3))
def test_a_ratio_is_missed_when_our_side_takes_three_times_as_long(
    peer_before: list[float],
    ours_before: list[float],
    peer: list[float],
    ours: list[float],
    machine: float,
) -> None:
    kept = figure(peer_before, "higher", over=ours_before, tracked=True)
    # Another machine, or another load: both sides take so many times as long.
    peer = [machine * each for each in peer]
    same = figure(peer, "higher", over=[machine * each for each in ours], tracked=True)
    slower = figure(peer, "higher", over=[3 * machine * each for each in ours], tracked=True)
    assert against_kept(same, kept, are_times_comparable=False) != MISSED
    assert against_kept(slower, kept, are_times_comparable=False) == MISSED


def test_what_cannot_be_compared_is_not() -> None:
    kept = figure([1, 1, 1], tracked=True)
    slower = figure([9, 9, 9], tracked=True)
    assert against_kept(slower, kept, are_times_comparable=True) == MISSED
    assert against_kept(slower, kept, are_times_comparable=False) is None
    assert against_kept(slower, None, are_times_comparable=True) is None
    assert against_kept(figure([9, 9, 9]), kept, are_times_comparable=True) is None
    assert against_kept(figure([9, 9], tracked=True), kept, are_times_comparable=True) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples": []},
        {"samples": [1.0, math.nan]},
        {"samples": [math.inf]},
        {"samples": [1.0], "over": [0.0]},
        {"samples": [0.0], "over": [1.0]},
        {"samples": [1.0], "better": "faster"},
    ],
)
def test_what_is_no_figure_is_refused(wrong: dict[str, Any]) -> None:
    found = {"row": "work", "column": "time", "unit": "ms", "better": "lower"} | wrong
    with pytest.raises(ValueError, match="work: time"):
        Figure.read(found)


# ── the command ───────────────────────────────────────────────────────────

#: A benchmark whose clock counts the steps of its work, so that nothing else moves it.
PLANTED = """
import argparse, os, random
from benchmarks import records
from benchmarks.verdicts import Figure

def work(times):
    return sum(1 for _ in range(1000 * times))

parser = argparse.ArgumentParser()
parser.add_argument("--smoke", action="store_true")
parser.add_argument("--fail", action="store_true")
records.add_option(parser)
options = parser.parse_args()
if options.fail:
    raise SystemExit(3)
chance = random.Random(os.getpid())
steps = tuple(
    work(int(os.environ["PLANTED_TIMES"])) * chance.uniform(1, 1.2) for _ in range(7)
)
limit = float(os.environ["PLANTED_LIMIT"])
figure = Figure("work", "steps", "ms", "lower", steps, limit=limit, tracked=True)
records.hand_over(options, {"rounds": 7}, [figure])
"""

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function: run the planted benchmark with so many times the work."""
    (tmp_path / "planted.py").write_text(PLANTED)
    # A link, so that no `spanwise` lies beside it.
    (tmp_path / "benchmarks").symlink_to(CHECKOUT / "benchmarks")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    )
    part = runner.Part("planted", "planted", ("--smoke",), limits=1)
    monkeypatch.setattr(runner, "PARTS", {"planted": part})
    monkeypatch.setattr(records, "RESULTS", tmp_path / "kept")
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 0.5, 0.5))

    def command(*words: str, times: int = 1, limit: float = 1e9) -> int:
        monkeypatch.setenv("PLANTED_TIMES", str(times))
        monkeypatch.setenv("PLANTED_LIMIT", str(limit))
        return runner.main(list(words))

    return command


def test_a_benchmark_three_times_slower_than_what_was_kept_turns_red(
    run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("--json", str(tmp_path / "kept")) == 0
    assert run() == 0
    capfd.readouterr()
    assert run(times=3) == 1
    said = capfd.readouterr()
    assert re.search(r"MISSED +work: steps: 3[\d.e+]+ .*, kept 1", said.err)
    assert "failed: planted" in said.err


def test_a_benchmark_beyond_its_limit_turns_red(
    run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(limit=1300) == 0
    assert run(limit=900) == 1
    assert "limit 900 ms" in capfd.readouterr().err


def test_a_smoke_run_judges_no_times(run: Run) -> None:
    assert run("--smoke", limit=900) == 0


def test_a_part_that_fails_or_loses_its_limits_turns_red(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("planted", "--", "--fail") == 1
    monkeypatch.setitem(runner.PARTS, "planted", runner.Part("planted", "planted", (), limits=2))
    assert run() == 1
    assert run("--smoke") == 1


def test_the_record_says_all_that_it_must(run: Run, tmp_path: Path) -> None:
    assert run("planted", "--name", "other", "--json", str(tmp_path / "kept")) == 0
    record = json.loads((tmp_path / "kept" / "other.json").read_text())
    jsonschema.validate(record, records.SCHEMA)
    for key in records.SCHEMA["required"]:
        lacking = copy.deepcopy(record)
        del lacking[key]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(lacking, records.SCHEMA)


def test_times_are_compared_on_the_same_machine_under_about_the_same_load(
    run: Run, tmp_path: Path
) -> None:
    assert run("--json", str(tmp_path / "kept")) == 0
    path = tmp_path / "kept" / "planted.json"
    kept = json.loads(path.read_text())

    def told(change: Callable[[dict[str, Any]], object]) -> int:
        record = copy.deepcopy(kept)
        change(record)
        path.write_text(json.dumps(record))
        return run(times=3)

    assert told(lambda record: record["load"].update(before=0.0)) == 1
    assert told(lambda record: record["load"].update(before=-2.0)) == 0
    assert told(lambda record: record["machine"].update(cores=1000)) == 0
    assert told(lambda record: record["settings"].update(rounds=8)) == 0


# ── what is published ─────────────────────────────────────────────────────


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_published_record_is_whole_and_follows_from_its_samples(path: Path) -> None:
    record = json.loads(path.read_text("utf-8"))
    jsonschema.validate(record, records.SCHEMA)
    assert record["benchmark"] == path.stem
    assert " " not in record["commit"], "measured with files that no commit has"
    assert record["figures"] == json.loads(
        json.dumps([records.row_of(each) for each in records.figures_of(record)])
    )


def test_the_page_shows_every_record_as_it_is() -> None:
    page = tables.PAGE.read_text("utf-8")
    assert page == tables.filled(page), "run: python -m benchmarks.tables"
    shown = [found[2] for found in tables.BLOCK.finditer(page)]
    assert sorted(shown) == sorted(path.stem for path in RECORDS)


def test_a_figure_that_was_changed_on_the_page_is_found() -> None:
    page = tables.PAGE.read_text("utf-8")
    for found in tables.BLOCK.finditer(page):
        at = page.index("| ", found.start(3)) + 2
        changed = page[:at] + "7" + page[at:]
        assert changed != tables.filled(changed)
