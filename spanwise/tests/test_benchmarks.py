"""The judgement of benchmarks turns red when it must, and published figures are the kept ones."""

from __future__ import annotations

import copy
import functools
import importlib
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.records.block import decode_block, encode_block
from spanwise.records.tables import record_tables
from spanwise.tests.address_grammar import without_address_grammar
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.processes import wait_until
from spanwise.wire.link import dial

if not (CHECKOUT / "benchmarks").exists():
    pytest.skip("needs files of the checkout", allow_module_level=True)
# At the end: where a wheel is installed, `spanwise` stays the installed one.
sys.path.append(str(CHECKOUT))
try:
    from benchmarks import __main__ as runner
    from benchmarks import (
        compare,
        driver,
        graphs,
        recorded_faults,
        recorded_rows,
        recording,
        records,
        stillness,
        stillness_guard,
        systems,
        tables,
    )
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
    from benchmarks.work import Work
finally:
    sys.path.remove(str(CHECKOUT))

PARTS = dict(runner.PARTS)
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
parser.add_argument("--python")
records.add_option(parser)
options = parser.parse_args()
if options.fail:
    raise SystemExit(3)
if options.python:
    records.platform.python_version = lambda: options.python
    records.PACKAGES = ("spanwise", "msgpack")
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


def test_the_end_says_once_more_why_a_part_failed(
    run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def end_of(words: list[str], **options: Any) -> str:
        assert run(*words, **options) == 1
        said = capfd.readouterr().err
        *before, end = said.split("failed: planted\n")
        for line in end.splitlines():
            assert line.strip() in before[0]
        return end

    assert end_of(["planted", "--", "--fail"]) == "  planted: exit code 3\n"
    assert "unrecognized arguments: --nonsense" in end_of(["planted", "--", "--nonsense"])
    assert re.fullmatch(r" +MISSED +work: steps: .*, limit 900 ms\n", end_of([], limit=900))
    monkeypatch.setitem(runner.PARTS, "planted", runner.Part("planted", "planted", (), limits=2))
    assert end_of([]) == "  1 figures have limits, of 2 that must.\n"


def test_of_many_errors_the_last_are_kept(capfd: pytest.CaptureFixture[str]) -> None:
    loop = "import sys\nfor i in range(1000): print('error', i, file=sys.stderr)\nsys.exit(4)"
    code, said = runner.run_command([sys.executable, "-c", loop], os.environ)
    assert code == 4
    assert said == [f"error {i}" for i in range(1000 - runner.MOST_LINES, 1000)]
    assert capfd.readouterr().err.splitlines() == [f"error {i}" for i in range(1000)]


def test_what_a_part_leaves_behind_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runner, "LEFT_SECONDS", 0.1)
    script = (
        "import subprocess, sys\n"
        "left = subprocess.Popen(['sleep', '600'])\n"
        "with open(sys.argv[1], 'w') as file: print(left.pid, file=file)"
    )
    pid = tmp_path / "pid"
    code, _ = runner.run_command([sys.executable, "-c", script, str(pid)], os.environ)
    os.kill(int(pid.read_text()), signal.SIGKILL)
    assert code == 0


def test_ctrl_c_ends_the_part(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    wait = subprocess.Popen.wait

    def interrupted(process: subprocess.Popen[str], timeout: float | None = None) -> int:
        if not pids:
            pids.append(process.pid)
            raise KeyboardInterrupt
        return wait(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run_command(["sleep", "600"], os.environ)
    assert pids and not psutil.pid_exists(pids[0])


def test_a_smoke_run_has_a_number_of_limits_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    smoke = ("--smoke",)
    for limits, in_smoke, ends in ((2, 1, (1, 0)), (1, 2, (0, 1)), (1, 0, (0, 0))):
        part = runner.Part("planted", "planted", smoke, limits=limits, limits_in_smoke=in_smoke)
        monkeypatch.setitem(runner.PARTS, "planted", part)
        assert (run(), run("--smoke")) == ends


def test_only_a_smoke_run_measures_with_settings_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Mapping[str, str]] = []

    def note(command: list[str], environment: Mapping[str, str]) -> tuple[int, list[str]]:
        seen.append(environment)
        return 1, []

    monkeypatch.setattr(runner, "run_command", note)
    run()
    run("--smoke")
    measured, smoke = seen
    assert not runner.SMOKE_VARIABLES.keys() & measured.keys()
    assert runner.SMOKE_VARIABLES.items() <= smoke.items()


def test_a_smoke_run_leaves_out_parts_that_another_one_shows(
    run: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = runner.Part("shown", "planted", ("--smoke",), smoked_by="planted")
    monkeypatch.setitem(runner.PARTS, "shown", shown)
    for words, shows in (((), True), (("--smoke",), False), (("shown", "--smoke"), True)):
        assert run(*words) == 0
        assert ("══ shown" in capfd.readouterr().out) == shows


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_what_another_part_shows_in_smoke_has_that_one(part: runner.Part) -> None:
    if part.smoked_by:
        assert not PARTS[part.smoked_by].smoked_by


def test_a_smoke_run_has_cases_of_each_set_and_their_goals() -> None:
    for cases in (graphs.SHORT, graphs.GENERAL, graphs.REAL, graphs.TRANSFERS):
        assert cases.keys() & set(compare.SMOKED)
    assert PARTS["compare"].least_limits(smoke=True) == _goals(compare.SMOKED)


@pytest.mark.parametrize(
    ("part", "cases"),
    [
        ("compare", graphs.SHORT),
        ("compare-general", graphs.GENERAL),
        ("compare-real", graphs.REAL),
        ("compare-transfers", graphs.TRANSFERS),
    ],
)
def test_a_run_shows_the_goal_of_each_case(part: str, cases: Iterable[str]) -> None:
    assert PARTS[part].least_limits(smoke=False) == _goals(cases)


def _goals(cases: Iterable[str]) -> int:
    return sum(graphs.CASES[case].goal is not None for case in cases)


@pytest.fixture(scope="module")
def jsonschema() -> ModuleType:
    """Imported by who checks a record, which has no addresses."""
    with without_address_grammar():
        return importlib.import_module("jsonschema")


def test_the_record_says_all_that_it_must(run: Run, tmp_path: Path, jsonschema: ModuleType) -> None:
    assert run("planted", "--name", "other", "--json", str(tmp_path / "kept")) == 0
    record = json.loads((tmp_path / "kept" / "other.json").read_text())
    jsonschema.validate(record, records.SCHEMA)
    for key in records.SCHEMA["required"]:
        lacking = copy.deepcopy(record)
        del lacking[key]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(lacking, records.SCHEMA)


def test_versions_are_those_of_the_interpreter_that_ran(run: Run, tmp_path: Path) -> None:
    assert run("planted", "--json", str(tmp_path / "kept"), "--", "--python", "3.1.4") == 0
    record = json.loads((tmp_path / "kept" / "planted.json").read_text())
    # (none that only the caller has)
    here = records.versions()
    assert here.keys() > {"python", "spanwise", "msgpack"}
    told = {"python": "3.1.4", "spanwise": here["spanwise"], "msgpack": here["msgpack"]}
    assert record["versions"] == told


def test_the_version_of_node_stands_beside_those_of_the_caller() -> None:
    figure = {"row": "work", "column": "time", "unit": "ms", "better": "lower", "samples": [1.0]}
    found = {"settings": {}, "figures": [figure], "versions": {"node": "22.0.0"}}
    record = records.make_record("work", "work", "work", [], found, records.Stopwatch())
    assert record["versions"] == records.versions() | {"node": "22.0.0"}


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


# ── the comparison ────────────────────────────────────────────────────────


class Value:
    """The value of something that a client computes at once."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def result(self) -> Any:
        return self._value


class HereClient:
    """Computes in this thread, by Dask's own synchronous scheduler."""

    def scheduler_info(self) -> dict[str, Any]:
        return {"workers": {"a": {}, "b": {}}}

    def submit(self, function: Any, *arguments: Any, workers: Any, pure: bool) -> Value:
        return Value(function(*(a.result() if isinstance(a, Value) else a for a in arguments)))

    def map(self, function: Any, values: Any) -> list[Value]:
        return [Value(function(each)) for each in values]

    def gather(self, values: list[Value]) -> list[Any]:
        return [each.result() for each in values]

    def compute(self, collection: Any) -> Value:
        return Value(collection.compute(scheduler="sync"))


@pytest.mark.parametrize("case", graphs.GENERAL)
def test_work_of_the_general_path_gives_what_it_says_and_no_round_is_like_another(
    case: str,
) -> None:
    size = graphs.GENERAL[case].smoke
    first, second = (graphs.GENERAL[case].build(f"1-{number}", size) for number in (1, 2))
    assert first.run(HereClient()) == first.expected
    assert first.expected != second.expected
    tasks = first.tasks() if callable(first.tasks) else first.tasks
    assert tasks >= size


class Stub:
    """A system that answers at once, and notes what it was told."""

    def __init__(self, name: str, log: list[tuple[str, str]], seconds: float, digest: str) -> None:
        self.name = name
        self.answer = {"wallSeconds": seconds, "digest": digest, "tasks": 7, "load": 0.5}
        self.answer["cpuSeconds"] = {"client": seconds}
        self.log = log

    def order(
        self, case: str, size: int, salt: str, settle: float = 0.0, seconds: float | None = None
    ) -> dict[str, Any]:
        self.log.append((self.name, salt if seconds is None else f"{seconds:g} s"))
        return dict(self.answer)


def stubs(log: list[tuple[str, str]], ours: float = 1.0, digest: str = "same") -> list[Any]:
    return [
        Stub("spanwise", log, ours, "same"),
        Stub("distributed", log, 30.0, digest),
        Stub("distributed-inf", log, 20.0, "same"),
    ]


def test_a_recorded_graph_has_the_rows_of_its_log_in_their_order() -> None:
    numbers = {"u8": 1, "u16": 2, "u32": 3, "f32": 0.5, "f64": 0.25, "text": "a"}

    def block(seq: int, table: str, **columns: list[Any]) -> bytes:
        rows = len(next(iter(columns.values())))
        kinds = record_tables()[table].columns
        rest = {name: [numbers[kind]] * rows for name, kind in kinds.items()}
        return encode_block(seq, table, {**rest, **columns})

    log = [
        block(1, "nodes", node=[7, 8], function=[1, 2], firstEdge=[0, 0]),
        block(2, "names", id=[1]),
        block(3, "edges", node=[7]),
        block(4, "nodes", node=[9], function=[1], firstEdge=[1]),
        block(5, "runs", node=[8], status=[0], duration=[0.5], nbytes=[64.0]),
        # One that was lost with its worker.
        block(6, "runs", node=[9], status=[2], duration=[0.5], nbytes=[math.nan]),
    ]
    assert recorded_rows.rows_of(map(decode_block, log)) == {
        "nodes": [
            {"node": 7, "function": 1, "firstEdge": 0},
            {"node": 8, "function": 2, "firstEdge": 0},
            {"node": 9, "function": 1, "firstEdge": 1},
        ],
        "edges": [{"node": 7}],
        "runs": [{"node": 8, "status": 0, "duration": 0.5, "nbytes": 64.0}],
    }


def test_recordings_name_no_folder_of_the_machine() -> None:
    packages = sysconfig.get_path("purelib")
    for path, name in (
        (CHECKOUT / "benchmarks" / "x.py", "/checkout/benchmarks/x.py"),
        (Path(packages) / "numpy" / "x.py", "/site-packages/numpy/x.py"),
        (Path(sysconfig.get_path("stdlib")) / "contextlib.py", "/python/contextlib.py"),
        (Path(sys.prefix) / "bin" / "x", "/environment/bin/x"),
    ):
        assert recorded_faults.plain(f'in "{path}", line 5') == f'in "{name}", line 5'
    assert recorded_faults.plain(f"{packages}:{CHECKOUT}") == "/site-packages:/checkout"


def test_what_a_card_says_to_be_missing_is_read_or_refused() -> None:
    pytest.importorskip("distributed")
    dask_scale = importlib.import_module("benchmarks.dask_scale")
    said = "2,830 task runs before 18.8\u00a0s are missing: they did not reach the observer."
    assert dask_scale.runs_missing(said.replace("\u00a0", " ")) == 2830
    assert dask_scale.runs_missing("") == 0
    with pytest.raises(SystemExit, match="what is missing: Some measurements"):
        dask_scale.runs_missing("Some measurements are missing.")


def test_a_log_counts_when_all_of_it_has_come(tmp_path: Path) -> None:
    recorder = recorded_rows.Recorder(tmp_path)
    secret = (tmp_path / "secret").read_bytes()
    link = dial((tmp_path / "address").read_text(), secret, "source")
    whose = {"logId": "a", "clusterId": "a", "name": "a", "kind": "embedded"}
    link.send("open", {**whose, "wallEpoch": 0.0, "pid": 1})
    assert link.read().type == "resume"
    with pytest.raises(TimeoutError, match="has not ended"):
        recorder.close(0.01)
    kinds = record_tables()["nodes"].columns
    columns = {name: ["a" if kind == "text" else 1] for name, kind in kinds.items()}
    link.send("block", blobs=[encode_block(1, "nodes", columns)])
    link.close()
    assert [block.seq for block in recorder.close()] == [1]


def test_all_systems_warm_up_alike_and_take_turns() -> None:
    log: list[tuple[str, str]] = []
    measured = systems.in_turn(stubs(log), ["stencil"], 3, smoke=True)
    names = ("spanwise", "distributed", "distributed-inf")
    assert {name: len(measured["stencil"][name]) for name in names} == dict.fromkeys(names, 3)
    rounds = [log[at : at + 3] for at in range(0, len(log), 3)]
    assert len(rounds) == 4
    for each in rounds:
        assert sorted(name for name, _ in each) == sorted(names)
        assert len({salt for _, salt in each}) == 1
    assert [each[0][0] for each in rounds] == [*names, names[0]]


def test_each_case_is_repeated_for_so_long_before_its_first_round() -> None:
    log: list[tuple[str, str]] = []
    systems.in_turn(stubs(log), ["stencil"], 1, smoke=True, uncounted=0, warm_seconds=2.5)
    warm, rounds = log[:3], log[3:]
    assert [name for name, _ in warm] == [name for name, _ in rounds]
    assert {said for _, said in warm} == {"2.5 s"}
    assert "2.5 s" not in {said for _, said in rounds}


def test_who_warms_up_repeats_with_keys_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    now, salts = [0.0], []

    def measure(_system: str, _client: object, _case: str, _size: int, salt: str) -> dict[str, Any]:
        salts.append(salt)
        now[0] += 1.0
        return {"wallSeconds": now[0]}

    monkeypatch.setattr(driver, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(driver, "measure", measure)
    assert driver.warm_up("spanwise", None, "it", 1, "7", 2.5) == {"wallSeconds": 3.0}
    assert salts == ["7-1000", "7-1001", "7-1002"]
    # Without time it is still done once, so that results are compared.
    assert driver.warm_up("spanwise", None, "it", 1, "7", 0.0) == {"wallSeconds": 4.0}


def test_what_follows_the_result_counts_as_cpu_time_and_not_as_wall_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, spent = [10.0], [0.0]

    def run(_: object) -> str:
        now[0] += 2.0
        return "done"

    def sleep(seconds: float) -> None:
        now[0] += seconds
        spent[0] += 0.125

    clock = SimpleNamespace(perf_counter=lambda: now[0], sleep=sleep)
    case = SimpleNamespace(build=lambda salt, size: Work(run, "done", 1))
    monkeypatch.setattr(driver, "time", clock)
    monkeypatch.setattr(driver, "cpu_seconds", lambda: {1: ("observer", spent[0])})
    monkeypatch.setitem(graphs.CASES, "it", case)
    monkeypatch.setitem(driver.SHORT, "it", case)
    answer = driver.measure("spanwise", None, "it", 1, "salt", settle=0.5)
    assert answer["wallSeconds"] == 2.0
    assert answer["cpuSeconds"] == {"observer": 0.125}
    assert now == [12.5]


@pytest.mark.parametrize(("part", "settle"), [(compare, 0.0), (recording, 0.75)])
def test_what_recording_costs_includes_what_the_observer_does_later(
    part: ModuleType, settle: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = []

    class Noted(Stub):
        def __init__(self, name: str, *_: object, **__: object) -> None:
            super().__init__(name, [], 1.0, "same")
            self.package = name

        def order(self, case: str, size: int, salt: str, settle: float) -> dict[str, Any]:
            settled.append(settle)
            return super().order(case, size, salt, settle)

        def __enter__(self) -> Noted:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(part, "Driver", Noted)
    words = ["--before", "a folder"] if part is compare else []
    monkeypatch.setattr(sys, "argv", ["it", "--smoke", "--case", "stencil", *words])
    part.main()
    assert set(settled) == {settle}


#: It and a process that it started wait, until its input ends.
TWO = """
import os, sys
ends, ended = os.pipe()
if os.fork():
    sys.stdin.read()
    os.close(ended)
    os.wait()
else:
    os.close(ended)
    os.read(ends, 1)
"""


@pytest.fixture
def two() -> Iterator[tuple[psutil.Process, psutil.Process]]:
    """A program, and a process that it has started."""
    with subprocess.Popen([sys.executable, "-c", TWO], stdin=subprocess.PIPE) as program:
        one = psutil.Process(program.pid)
        (other,) = wait_until("it has started another", one.children)
        yield one, other
        for each in (other, one):
            with suppress(psutil.NoSuchProcess):
                each.kill()


@pytest.fixture
def still(two: tuple[psutil.Process, psutil.Process]) -> Iterator[stillness.Stillness]:
    still = stillness.Stillness(two[0].pid, waits=True)
    yield still
    still.close()


def _stand_still(processes: Iterable[psutil.Process]) -> bool:
    return all(each.status() == psutil.STATUS_STOPPED for each in processes)


def _go_on(processes: Iterable[psutil.Process]) -> bool:
    return all(each.status() != psutil.STATUS_STOPPED for each in processes)


def test_who_is_not_measured_stands_still_once_it_rests(
    two: tuple[psutil.Process, psutil.Process],
    still: stillness.Stillness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rests = threading.Event()
    looks = itertools.count(1)
    looked = 0

    def cpu_of(process: psutil.Process) -> float:
        nonlocal looked
        if process == two[1] and not rests.is_set():
            looked = next(looks)
        # (more than any time that passes meanwhile)
        return 1e6 * looked

    monkeypatch.setattr(stillness, "MOST_SECONDS_AFTER", 600.0)
    monkeypatch.setattr(stillness, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(stillness, "cpu_of", cpu_of)
    begins = threading.Thread(target=still.begin)
    begins.start()
    wait_until("it is looked at again and again", lambda: looked > 5)
    assert begins.is_alive()
    assert _go_on(two)
    rests.set()
    begins.join(600)
    wait_until("both stand still", lambda: _stand_still(two))
    still.end()
    wait_until("both go on", lambda: _go_on(two))


def test_rest_is_a_share_of_the_time_that_has_passed(
    still: stillness.Stillness, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, looks = 0.0, 0

    def sleep(seconds: float) -> None:
        # (the machine has others to run)
        nonlocal now, looks
        now, looks = now + 10 * seconds, looks + 1

    clock = SimpleNamespace(monotonic=lambda: now, sleep=sleep)
    monkeypatch.setattr(stillness, "time", clock)
    for share, rests in ((0.9, True), (1.1, False)):
        used = share * stillness.RESTING_SHARE / 2  # (of each of both)
        monkeypatch.setattr(stillness, "cpu_of", lambda _, used=used: used * now)
        looks = 0
        still._await_rest(30.0)
        assert (looks == 1) == rests


def test_those_that_have_ended_need_not_go_on(
    two: tuple[psutil.Process, psutil.Process],
    still: stillness.Stillness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stillness, "cpu_of", lambda _: 0.0)
    still.begin()
    wait_until("both stand still", lambda: _stand_still(two))
    for each in reversed(two):
        each.kill()
    two[0].wait(600)
    still.end()
    # Nor can they be stopped.
    still.begin()
    still.end()


def test_what_could_not_be_stopped_as_a_whole_goes_on(
    two: tuple[psutil.Process, psutil.Process],
    still: stillness.Stillness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suspend = psutil.Process.suspend

    def interrupted(process: psutil.Process) -> None:
        suspend(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(stillness, "cpu_of", lambda _: 0.0)
    monkeypatch.setattr(psutil.Process, "suspend", interrupted)
    with pytest.raises(KeyboardInterrupt):
        still.begin()
    wait_until("the first stands still", lambda: _stand_still(two[:1]))
    still.end()
    wait_until("both go on", lambda: _go_on(two))


#: A benchmark that has a program stand still, says so, and does not end.
BENCHMARK = """
import sys, time
sys.path.append(sys.argv[1])
from benchmarks.stillness import Stillness
still = Stillness(int(sys.argv[2]), waits=False)
still.begin()
print("begun", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_stands_still_goes_on_when_the_benchmark_is_killed(
    two: tuple[psutil.Process, psutil.Process], number: signal.Signals
) -> None:
    command = [sys.executable, "-c", BENCHMARK, str(CHECKOUT), str(two[0].pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as benchmark:
        try:
            assert benchmark.stdout is not None
            assert benchmark.stdout.readline() == b"begun\n"
            wait_until("both stand still", lambda: _stand_still(two))
            (guard,) = psutil.Process(benchmark.pid).children()
        finally:
            # (all of its session, as one who ends a lane does)
            os.killpg(benchmark.pid, number)
        wait_until("both go on", lambda: _go_on(two))
        wait_until("its guard has ended", lambda: not _lives(guard))


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_another_process_of_the_same_number_is_left_alone(
    two: tuple[psutil.Process, psutil.Process],
) -> None:
    for each in two:
        each.suspend()
    wait_until("both stand still", lambda: _stand_still(two))
    same, other = (stillness_guard.start_of(each.pid) for each in two)
    told = f"{two[0].pid} {same}\n{two[1].pid} {other}0\n"
    guard = [sys.executable, "-I", "-S", stillness_guard.__file__]
    subprocess.run(guard, input=told, text=True, timeout=600, check=True)
    wait_until("the first goes on", lambda: _go_on(two[:1]))
    assert _stand_still(two[1:])


class Interrupted:
    """In place of a system's stillness: it is interrupted where it was told."""

    def __init__(self, where: str, pid: int, waits: bool) -> None:
        self.where = where
        if where == "made":
            raise KeyboardInterrupt

    def begin(self) -> None:
        raise KeyboardInterrupt

    def close(self) -> None:
        pass


@pytest.mark.parametrize("where", ["made", "begun"])
def test_a_system_that_could_not_stand_still_is_ended(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[Any]] = []
    popen = subprocess.Popen

    def start(_: list[str], **options: Any) -> subprocess.Popen[Any]:
        program = 'import sys; print(\'{"package": "here"}\', flush=True); sys.stdin.read()'
        started.append(popen([sys.executable, "-c", program], **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(systems, "Stillness", functools.partial(Interrupted, where))
    with pytest.raises(KeyboardInterrupt), systems.Driver("it", "spanwise"):
        pass
    (program,) = started
    assert program.returncode == 0


@pytest.mark.parametrize("part", [compare, recording])
def test_a_smoke_run_waits_for_no_system_to_rest(
    part: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    smokes: dict[str, bool] = {}

    class Noted(Stub):
        def __init__(
            self,
            name: str,
            _: str,
            package: Path | None = None,
            smoke: bool = False,
            workers: int = 2,
        ) -> None:
            super().__init__(name, [], 1.0, "same")
            self.package = name
            smokes[name] = smoke

        def __enter__(self) -> Noted:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(part, "Driver", Noted)
    for words in ([], ["--before", "a folder"]) if part is compare else ([],):
        monkeypatch.setattr(sys, "argv", ["it", "--smoke", "--case", "stencil", *words])
        part.main()
    assert len(smokes) == (3 if part is compare else 2)
    assert all(smokes.values())


def test_a_peer_that_stood_still_for_long_keeps_its_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    name = "distributed.scheduler.worker-ttl"
    assert dask.config.get(name)  # (it is still called so)
    seen = []
    monkeypatch.setattr(distributed, "LocalCluster", lambda **_: seen.append(dask.config.get(name)))
    monkeypatch.setattr(
        distributed, "Client", lambda _: SimpleNamespace(wait_for_workers=lambda _: None)
    )
    with dask.config.set({name: dask.config.get(name)}):
        driver.start_distributed(2, 1, None, processes=True)
    assert seen == [None]


def test_other_results_for_the_same_work_end_the_comparison() -> None:
    with pytest.raises(AssertionError, match="stencil: the systems gave different results"):
        systems.in_turn(stubs([], digest="other"), ["stencil"], 3, smoke=True)


def test_a_wrong_result_ends_the_benchmark() -> None:
    class Wrong(HereClient):
        def get(self, graph: Any, key: Any) -> int:
            return 44

    with pytest.raises(AssertionError, match="the result is wrong: 44"):
        driver.measure("spanwise", Wrong(), "merge-25K", 9, "1-1")


def test_the_better_peer_counts_and_three_times_our_time_is_missed() -> None:
    def figures(ours: float) -> dict[str, Figure]:
        measured = systems.in_turn(stubs([], ours), ["stencil"], 3, smoke=True)
        return {each.column: each for each in compare.figures_of(measured)}

    kept = figures(1.0)["times as fast"]
    assert kept.interval.middle == 20.0
    assert against_kept(figures(1.2)["times as fast"], kept, False) == PASS
    assert against_kept(figures(3.0)["times as fast"], kept, False) == MISSED


def test_slower_than_an_earlier_release_is_missed() -> None:
    def verdicts(before: float) -> list[str]:
        pair = [Stub("spanwise", [], 1.0, "same"), Stub("before", [], before, "same")]
        measured = systems.in_turn(pair, ["stencil"], 6, smoke=True)  # type: ignore[arg-type]
        return [
            judge(each.interval, each.better, each.limit)
            for each in compare.figures_of(measured)
            if each.limit is not None
        ]

    assert verdicts(1.1) == [PASS, PASS]
    assert verdicts(0.9) == [MISSED, MISSED]


def test_a_look_kept_the_program_in_its_own_round_whatever_else_took_longer() -> None:
    pytest.importorskip("distributed")
    looks = importlib.import_module("benchmarks.sampler_looks")
    # Every tenth round meets a look of 100 us, and as many others something of a millisecond.
    rounds = [{0: 120e-6, 5: 1020e-6}.get(i % 10, 20e-6) for i in range(1000)]
    ends = [0.0, *itertools.accumulate(rounds)]
    at = [(ends[i] + ends[i + 1]) / 2 for i in range(0, 1000, 10)]
    kept = looks.kept_by(ends, [-1.0, *at, ends[-1] + 1.0])
    assert kept == pytest.approx([100e-6] * 100)


# ── what is published ─────────────────────────────────────────────────────


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_published_record_is_whole_and_follows_from_its_samples(
    path: Path, jsonschema: ModuleType
) -> None:
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
