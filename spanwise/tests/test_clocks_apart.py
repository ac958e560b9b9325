"""A real cluster whose workers' clocks are seconds off, each another way, and run at other rates.

Tasks read CLOCK_MONOTONIC, which is the scheduler's clock, and nobody has changed it. What the
cluster tells of them must agree with what they read.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from spanwise import Client, get_worker, secede, span, wait
from spanwise.tests.processes import wait_until

#: What a record may be off.
MOST_SECONDS = 0.005
#: Before it begins, the offsets are known that well: where the machine answers so soon. One that
#: does not within the patience is taken as it is, for no record can be off by more than was known.
KNOWN_SECONDS = 0.001
PATIENCE_SECONDS = 20.0
#: Read before anything else in each Python process with this folder in its path: the first worker
#: is ahead, and those after it are behind.
PATCH = """
import os, sys, time
if "spanwise.worker" in sys.orig_argv:
    try:
        os.close(os.open({taken!r}, os.O_CREAT | os.O_EXCL))
        skew, drift = 3.0, 100e-6
    except FileExistsError:
        skew, drift = -3.0, -100e-6
    true, begin = time.perf_counter, time.perf_counter()
    def perf_counter():
        now = true()
        return now + skew + drift * (now - begin)
    time.perf_counter = perf_counter
"""


def true_now() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Look(NamedTuple):
    """What a worker takes its offset for, what it can be wrong by, and what it is.

    `doubt` is the most that it can have been wrong by since the look before.
    """

    told: float
    within: float
    least: float
    most: float
    doubt: float
    is_settling: bool


def keep_doubts(dask_worker: Any) -> None:
    """In a worker: what it did not know before each answer, which is when it knows least."""
    clock = dask_worker._worker.clock
    answered, doubts = clock.answered, []

    def noted(theirs: float, sent: float, received: float, now: Any) -> None:
        doubts.append(clock.within(received))
        answered(theirs, sent, received, now)

    clock.answered, clock.doubts = noted, doubts


def look(dask_worker: Any) -> Look:
    clock = dask_worker._worker.clock
    before = true_now()
    here = time.perf_counter()
    after = true_now()
    told, within = clock.at(here), clock.within(here)
    doubts, settles = clock.doubts, clock.is_settling
    doubt = max([within, *(doubts.pop(0) for _ in range(len(doubts)))])
    return Look(told, within, before - here, after - here, doubt, settles)


class Inside(NamedTuple):
    """When a task ran, by the true clock, and where."""

    begin: float
    end: float
    worker: str


def inside(begin: float) -> Inside:
    return Inside(begin, true_now(), get_worker().address)


def spin(seconds: float) -> Inside:
    begin = true_now()
    while true_now() - begin < seconds:
        pass
    return inside(begin)


def make(nbytes: int) -> tuple[Inside, Any]:
    begin = true_now()
    value = np.random.default_rng(0).bytes(nbytes)
    return inside(begin), value


def use(made: tuple[Inside, Any], number: int) -> Inside:
    begin = true_now()
    assert len(made[1]) and number >= 0
    return inside(begin)


def leave() -> Inside:
    begin = true_now()
    secede()
    time.sleep(0.2)
    return inside(begin)


def fail_at(path: str) -> None:
    begin = true_now()
    Path(path).write_text(f"{begin!r} {true_now()!r}")
    raise ValueError(path)


def need_the_schedulers_clock() -> None:
    if not hasattr(time, "CLOCK_MONOTONIC") or time.get_clock_info(
        "perf_counter"
    ).implementation != ("clock_gettime(CLOCK_MONOTONIC)"):
        pytest.skip("the scheduler's clock cannot be read")


#: A client's clock, three seconds ahead and 0.01 % too fast, which can be set.
PATCH_OF_CLIENT = """
import os, sys, time
if "spanwise.worker" not in sys.orig_argv:
    true, begin, time.ahead = time.perf_counter, time.perf_counter(), 3.0
    def perf_counter():
        now = true()
        return now + time.ahead + 100e-6 * (now - begin)
    time.perf_counter = perf_counter
"""
#: Prints by how many seconds what the cluster tells of this program is off, at most, and how well
#: it can know.
PROGRAM_OF_CLIENT = """
import time
from spanwise import Client, span

def true_now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)

def main():
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        session, clock = client._session, client._session._link.clock
        limit = true_now() + 120
        off, within = [], []
        answered = clock.answered
        def noted(theirs, sent, received, now):
            within.append(clock.within(received))
            answered(theirs, sent, received, now)
        clock.answered = noted
        def wait_until_known(offset):
            # As well as may be, or as well as a busy machine lets it be known by then.
            patient = true_now() + 20
            while (
                clock.is_settling
                or abs(clock.at(time.perf_counter()) - offset) > 0.1
                or (clock.within(time.perf_counter()) > 0.001 and true_now() < patient)
            ):
                assert true_now() < limit
                time.sleep(0.05)
        wait_until_known(-3)
        first = clock.at(time.perf_counter())
        within.clear()
        for number in range(4):
            if number == 2:
                time.ahead += 1
                known = [*within]
                wait_until_known(-4)
                within[:] = known  # (while it is set, nobody knows)
            before = session.wall_time(true_now())
            with span(f"apart-{number}"):
                after = session.wall_time(true_now())
                client.submit(time.sleep, 0.2, pure=False).result(120)
                ending = session.wall_time(true_now())
            ended = session.wall_time(true_now())
            (found,) = (each for each in client.spans() if each.name == (f"apart-{number}",))
            off += [before - found.opened, found.opened - after]
            off += [ending - found.closed, found.closed - ended]
            low = session.wall_time(true_now())
            now = session.wall_now()
            off += [low - now, now - session.wall_time(true_now())]
            within.append(clock.within(time.perf_counter()))
            assert client.get_task_stream(start=before - 0.01, stop=ended + 0.01)
        print(first, max(off), max(within))

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    need_the_schedulers_clock()
    (tmp_path / "sitecustomize.py").write_text(PATCH.format(taken=str(tmp_path / "taken")))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", set_as_default=False
    ) as client:
        client.wait_for_workers(2)
        yield client


def test_all_records_are_in_the_schedulers_time(client: Client, tmp_path: Path) -> None:
    def looks() -> dict[str, Look]:
        return {where: Look(*each) for where, each in client.run(look).items()}

    client.run(keep_doubts)
    patient_until = true_now() + PATIENCE_SECONDS

    def is_known(doubts: Iterable[float]) -> bool:
        return max(doubts) <= KNOWN_SECONDS or true_now() > patient_until

    wait_until(
        "the offsets are known",
        lambda: (
            not any(each.is_settling for each in looks().values())
            and is_known(each.within for each in looks().values())
        ),
    )
    first = looks()
    assert sorted(round(each.told) for each in first.values()) == [-3, 3]
    delays = client.run(lambda dask_worker: dask_worker.scheduler_delay)
    for where, each in looks().items():
        doubt = each.doubt + first[where].within
        assert abs(delays[where] - first[where].told) < MOST_SECONDS + doubt

    def told() -> dict[str, dict[str, float]]:
        workers = client.scheduler_info()["workers"]
        return {where: row["metrics"]["clock"] for where, row in workers.items()}

    wait_until(
        "the scheduler has been told how well",
        lambda: (
            all(each["uncertainty"] > 0 for each in told().values())
            and is_known(each["uncertainty"] for each in told().values())
        ),
    )
    for where, clock in told().items():
        doubt = clock["uncertainty"] + first[where].within
        assert abs(clock["offset"] - first[where].told) < MOST_SECONDS + doubt
    one, other = client.has_what()
    session = client._session

    def wall(t: float) -> float:
        return session.wall_time(t)

    began = true_now()
    with span("apart"):
        # Results of 40 MB each, more than the worker may hold: some are written, and read back.
        made = [client.submit(make, 40_000_000, key=f"make-{i}", workers=one) for i in range(8)]
        stamps: dict[str, Inside] = {}
        used = [
            client.submit(use, each, i, key=f"use-{i}", workers=other)
            for i, each in enumerate(made)
        ]
        again = [
            client.submit(use, each, i, key=f"again-{i}", workers=one)
            for i, each in enumerate(made)
        ]
        spun = [
            client.submit(spin, 1.5, key=f"{name}-0", workers=where)
            for name, where in (("first", one), ("second", other))
        ]
        left = client.submit(leave, key="leave", workers=one)
        failed = client.submit(fail_at, str(tmp_path / "failed"), key="fail", workers=other)
        begins = client.map(lambda made: made[0], made, key=[f"begin-{i}" for i in range(8)])
        for future, value in zip(made, client.gather(begins), strict=True):
            stamps[future.key] = value
        for future in [*used, *again, *spun, left]:
            stamps[future.key] = future.result()
        with pytest.raises(ValueError):
            failed.result()

        held: list[Any] = []
        more = (f"more-{i}" for i in range(10_000))

        def has_written() -> bool:
            # (results that the worker writes by itself, a moment before a task needs the room, are
            # no part of a run)
            held.append(client.submit(make, 40_000_000, key=next(more), workers=one))
            wait(held, timeout=60)
            rows = client.get_task_stream(start=wall(began) - 1)
            return any(part["action"] == "disk-write" for row in rows for part in row["startstops"])

        wait_until("a run has written results", has_written)
    ended = true_now()
    stamps["fail"] = Inside(*map(float, (tmp_path / "failed").read_text().split()), other)

    last = looks()
    for before, after in zip(first.values(), last.values(), strict=True):
        for each in (before, after):
            assert each.least - each.within <= each.told <= each.most + each.within
        assert after.told != before.told, "it follows"
    # (on a machine that did not answer for long it can be known no better)
    off = max(MOST_SECONDS, *(each.doubt for each in last.values()))

    records = {each["key"]: each for each in client.get_task_stream(start=wall(began) - 1)}
    assert set(stamps) <= set(records)
    actions = set()
    for key, record in records.items():
        for part in record["startstops"]:
            actions.add(part["action"])
            assert wall(began) - off <= part["start"] <= part["stop"] <= wall(ended) + off, key
        if key not in stamps:
            continue
        stamp = stamps[key]
        begin, end = wall(stamp.begin), wall(stamp.end)
        computed = [each for each in record["startstops"] if each["action"] == "compute"]
        assert computed[0]["start"] <= begin + off and end - off <= computed[-1]["stop"], key
        for part in record["startstops"]:
            if part["action"] in ("transfer", "disk-read"):
                assert part["stop"] <= begin + off, (key, part)
            if part["action"] == "transfer":
                source = stamps[f"make-{key.partition('-')[2]}"]
                assert wall(source.end) - off <= part["start"], (key, part)
    assert {"compute", "transfer", "disk-read", "disk-write"} <= actions

    for log in ("transfer_incoming_log", "transfer_outgoing_log"):
        entries = [
            each
            for one_log in client.run(
                lambda dask_worker, log=log: getattr(dask_worker, log)
            ).values()
            for each in one_log
        ]
        assert any(key.startswith("make-") for each in entries for key in each["keys"]), log
        for each in entries:
            times = [each["start"], each["middle"], each["stop"]]
            assert times == sorted(times)
            assert abs(each["middle"] - (each["start"] + each["stop"]) / 2) <= 1e-6
            assert times[-1] <= wall(ended) + off
            for key in each["keys"]:
                if key.startswith("make-"):
                    assert wall(stamps[key].end) - off <= times[0], (log, key)

    # What is kept by the second: nothing lies beside the seconds in which it can have been.
    start = session.wall_epoch + math.floor(wall(began) - session.wall_epoch - off)
    stop = wall(ended) + off

    def measured(**range_: float) -> dict[Any, float]:
        figures: defaultdict[Any, float] = defaultdict(float)
        for name, value in client.fine_metrics(span="apart", **range_).items():
            # What is idle depends on the range's ends. How long a task waited for what is an
            # estimate by the second, which a range divides; in all it is as long.
            if "idle" not in " ".join(map(str, name)):
                figures["noncpu" if name[0] == "noncpu" else name] += value
        return dict(figures)

    assert measured(start=start, stop=stop) == pytest.approx(measured())
    for prefix in ("first", "second"):
        stamp = stamps[f"{prefix}-0"]
        count = client.profile(prefix)["count"]
        begin, end = wall(stamp.begin) - off, wall(stamp.end) + off
        assert client.profile(prefix, start=begin, stop=end)["count"] == count > 0
        assert client.profile(prefix, stop=begin - 1)["count"] == 0
    (found,) = (each for each in client.spans() if each.name == ("apart",))
    assert wall(began) - off <= found.start <= found.stop <= wall(ended) + off


def test_what_a_client_stamps_is_in_the_schedulers_time(tmp_path: Path) -> None:
    need_the_schedulers_clock()
    (tmp_path / "sitecustomize.py").write_text(PATCH_OF_CLIENT)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM_OF_CLIENT)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    ran = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    first, off, within = map(float, ran.stdout.split())
    assert round(first) == -3
    # (on a machine that did not answer for long it can be known no better)
    assert off <= max(MOST_SECONDS, within)
