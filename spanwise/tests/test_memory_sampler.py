"""The memory sampler when the block, the cluster or the samples are not as they should be."""

from __future__ import annotations

import inspect
import random
import sys
import warnings
from typing import Any

import distributed.diagnostics
import matplotlib
import numpy as np
import pandas as pd
import pytest

from spanwise import MemorySampler
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.records.enumerations import MEMORY_MEASURES
from spanwise.tests.client_scheduler import ClientScheduler, LocalClient
from spanwise.tests.test_client import increment, until


def end(client: LocalClient) -> None:
    """Let the scheduler die and wait until the client knows."""
    until(lambda: client.fake.link is not None)
    assert client.fake.link is not None
    client.fake.link.close()
    until(lambda: client._session.dead is not None)


@pytest.mark.parametrize("interval", [0, -1, 86_401, float("nan"), float("inf")])
def test_an_interval_that_the_scheduler_would_refuse_is_refused_here(interval: float) -> None:
    with pytest.raises(ValueError, match="up to 86400"):
        MemorySampler().sample(interval=interval)


def test_a_label_that_is_no_text_is_refused_at_the_call() -> None:
    for label in (2026, 0, b"x", ["a"]):
        with pytest.raises(TypeError, match=r"^label is a text, .* not "):
            MemorySampler().sample(label)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^interval is a positive number of seconds.*'fast'"):
        MemorySampler().sample("x", interval="fast")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("memoryRun", {"request": 1, "run": 1, "label": 2026, "state": "start"}),
        ("askEvents", {"request": 1, "topic": 3}),
        ("logEvent", {"topics": [None]}),
        ("question", {"request": 1, "after": float("nan")}),
    ],
)
def test_what_the_scheduler_would_refuse_is_not_sent(
    client: LocalClient, kind: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(ClusterError, match=f'^This cannot be sent.*"{kind}"'):
        client._session.send(kind, fields)
    assert client.submit(increment, 1).result(60) == 2
    # What msgpack writes as the same is the same: NumPy's numbers, tuples.
    client._session._check_fields("logEvent", {"topics": ("a",)})
    run = {"request": 1, "run": 1, "intervalSeconds": np.float64(0.5), "state": "stop"}
    client._session._check_fields("memoryRun", run)


@pytest.mark.parametrize("mistake", [KeyError("mine"), KeyboardInterrupt()])
def test_the_users_error_is_not_replaced(client: LocalClient, mistake: BaseException) -> None:
    with pytest.raises(type(mistake)) as caught, MemorySampler().sample("x"):
        end(client)
        raise mistake
    assert caught.value is mistake
    assert "samples of 'x' are lost" in mistake.__notes__[-1]


def test_nor_by_a_scheduler_that_does_not_answer(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanwise.client.memory_sampler._STOP_SECONDS", 0.1)
    monkeypatch.setattr(client.fake, "_on_memoryRun", lambda message: None)
    with pytest.raises(ZeroDivisionError) as caught, MemorySampler().sample("x"):
        _ = 1 / 0
    assert "did not answer" in caught.value.__notes__[-1]
    assert not client._session._answers
    with pytest.raises(TimeoutError), MemorySampler().sample("x"):
        client.submit(increment, 1).result(60)


def test_without_an_error_of_the_user_it_says_so(client: LocalClient) -> None:
    with pytest.raises(SchedulerLost), MemorySampler().sample("x"):
        end(client)


def test_a_failed_start_leaves_no_request(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ClusterError("no")

    monkeypatch.setattr(client._session, "send", fails)
    with pytest.raises(ClusterError), MemorySampler().sample("x"):
        pytest.fail("the block has begun")
    monkeypatch.undo()
    assert not client._session._answers


@pytest.mark.asyncio
async def test_asynchronously_the_same(scheduler: ClientScheduler) -> None:
    async with LocalClient(scheduler, asynchronous=True) as client:
        mistake = KeyError("mine")
        with pytest.raises(KeyError) as caught:
            async with MemorySampler().sample("x"):
                end(client)
                raise mistake
        assert caught.value is mistake and mistake.__notes__


@pytest.mark.parametrize("align", [False, True])
class TestRunsWithoutSamples:
    def test_alone(self, align: bool) -> None:
        sampler = MemorySampler()
        sampler.samples["empty"] = []
        frame = sampler.to_pandas(align=align)
        assert list(frame.columns) == ["empty"] and len(frame) == 0
        with pytest.raises(ValueError, match="no samples yet"):
            sampler.plot(align=align)

    def test_beside_others(self, align: bool) -> None:
        sampler = MemorySampler()
        sampler.samples = {"one": [(100.0, 1.0), (101.0, 2.0)], "empty": [], "two": [(200.0, 3.0)]}
        frame = sampler.to_pandas(align=align)
        assert list(frame.columns) == ["one", "empty", "two"]
        assert frame["empty"].isna().all()
        assert frame["one"].dropna().tolist() == [1.0, 2.0]
        assert frame["two"].dropna().tolist() == [3.0]
        if align:
            np.testing.assert_allclose(frame.index.total_seconds(), [0, 1])

    def test_none_at_all(self, align: bool) -> None:
        assert MemorySampler().to_pandas(align=align).empty


def drawn_samples(seed: int) -> dict[str, list[tuple[float, int]]]:
    """Curves whose times overlap, coincide, and double."""
    chance = random.Random(seed)
    curves = {}
    for label in range(chance.randint(1, 4)):
        t = 1_764_000_000 + chance.choice([0, 0, 0.25, 1.5, 40])
        samples = []
        for _ in range(chance.randint(1, 12)):
            samples.append((t, chance.randrange(2**35)))
            t += chance.choice([0, 0.01, 0.25, 0.5, 0.5, 1.0])
        curves[f"run {label}"] = samples
    return curves


def sampler_of(samples: dict[str, list[tuple[float, int]]]) -> MemorySampler:
    sampler = MemorySampler()
    sampler.samples = samples
    return sampler


@pytest.mark.parametrize("align", [False, True])
def test_frames_are_distributeds(align: bool) -> None:
    for seed in range(40):
        samples = drawn_samples(seed)
        theirs = distributed.diagnostics.MemorySampler()
        theirs.samples = samples
        ours = sampler_of(samples).to_pandas(align=align)
        pd.testing.assert_frame_equal(ours, theirs.to_pandas(align=align), check_names=False)


def test_the_example_of_the_specification() -> None:
    a = [(0.0, 1), (0.5, 2), (1.0, 3)]
    b = [(0.0, 10), (0.25, 20), (0.25, 21), (1.0, 30), (2.0, 40)]
    frame = sampler_of({"a": a, "b": b}).to_pandas(align=True)
    assert frame.index.total_seconds().tolist() == [0, 0.25, 0.5, 1, 2]
    assert frame["a"].tolist()[:4] == [1, 1, 2, 3] and np.isnan(frame["a"].iloc[4])
    assert frame["b"].tolist() == [10, 20, 20, 30, 40]


def test_its_methods_are_called_as_distributeds() -> None:
    theirs = distributed.diagnostics.MemorySampler
    for name in ("sample", "to_pandas", "plot"):
        ours = inspect.signature(getattr(MemorySampler, name)).parameters
        assert list(ours) == list(inspect.signature(getattr(theirs, name)).parameters)


def test_the_measures_are_distributeds(client: LocalClient) -> None:
    from distributed.scheduler import MemoryState

    state = MemoryState(process=100, unmanaged_old=15, managed=68, spilled=12)

    def is_measure(name: str) -> bool:
        with warnings.catch_warnings(action="error", category=FutureWarning):
            try:
                return isinstance(getattr(state, name), int)
            except FutureWarning:
                return False  # an old name, which the oldest release still knows

    theirs = {name for name in dir(state) if not name.startswith("_") and is_measure(name)}
    assert set(MEMORY_MEASURES) == theirs
    for measure in MEMORY_MEASURES:
        sampler = MemorySampler()
        with sampler.sample("x", measure=measure):
            pass
        assert sampler.samples["x"]
    for wrong in ("sum", "_process", "nonsense"):
        with pytest.raises(ValueError, match="measure is one of process, managed"):
            MemorySampler().sample(measure=wrong)


def test_samples_are_whole_bytes_and_the_same_label_replaces(client: LocalClient) -> None:
    sampler = MemorySampler()
    with sampler.sample("x"):
        pass
    first = sampler.samples["x"]
    assert [nbytes for _, nbytes in first] == [1000, 2000]
    assert all(type(nbytes) is int for _, nbytes in first)
    # Of two of the same label the one that is left last is kept, as a whole.
    with sampler.sample("x"), sampler.sample("x"):
        pass
    assert list(sampler.samples) == ["x"] and len(sampler.samples["x"]) == 2
    # Without a label each has one of its own.
    for nothing in (None, "", None):
        with sampler.sample(nothing):
            pass
    assert len(sampler.samples) == 4


#: 60 samples 10 ms apart, and 5 at other times.
SHORT_RUNS = {
    "short": [(100 + i * 0.01, (1 + i % 7) * 2**30) for i in range(60)],
    "rare": [(300.003 + i * 0.125, 2**30 * i) for i in range(5)],
}


class TestPlots:
    @pytest.fixture(autouse=True)
    def _no_window(self) -> None:
        matplotlib.use("Agg")

    def points(self, label: str) -> list[tuple[float, float]]:
        """What must be drawn, aligned, in GiB."""
        first = SHORT_RUNS[label][0][0]
        return [(t - first, nbytes / 2**30) for t, nbytes in SHORT_RUNS[label]]

    def assert_drawn(self, label: str, x: Any, y: Any) -> None:
        """Every sample is a point, and between two of them the line is straight."""
        known = ~np.isnan(np.asarray(y, float))
        x, y = np.asarray(x, float)[known], np.asarray(y, float)[known]
        times, values = zip(*self.points(label), strict=True)
        for at, value in self.points(label):
            nearest = np.argmin(np.abs(x - at))
            assert abs(x[nearest] - at) < 1e-6 and abs(y[nearest] - value) < 1e-6
        np.testing.assert_allclose(y, np.interp(x, times, values), atol=1e-3)
        assert abs(x.min()) < 1e-6 and abs(x.max() - times[-1]) < 1e-6

    def test_matplotlib_draws_every_sample(self) -> None:
        axes = sampler_of(SHORT_RUNS).plot(align=True, title="two runs")
        assert axes.get_title() == "two runs"
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "Cluster memory (GiB)")
        lines = {line.get_label(): line for line in axes.get_lines()}
        assert list(lines) == ["short", "rare"]
        for label, line in lines.items():
            self.assert_drawn(label, line.get_xdata(), line.get_ydata())

    def test_plotly_draws_every_sample(self) -> None:
        figure = sampler_of(SHORT_RUNS).plot(align=True, backend="plotly", title="two runs")
        assert figure.layout.title.text == "two runs"
        assert figure.layout.xaxis.title.text == "time (s)"
        assert figure.layout.yaxis.title.text == "Cluster memory (GiB)"
        assert [trace.name for trace in figure.data] == ["short", "rare"]
        for trace in figure.data:
            self.assert_drawn(trace.name, trace.x, trace.y)

    @pytest.mark.parametrize("backend", ["matplotlib", "plotly"])
    def test_by_clock(self, backend: str) -> None:
        with pd.option_context("plotting.backend", backend):
            drawn = sampler_of(SHORT_RUNS).plot()
        if backend == "plotly":
            lines = [(trace.x, trace.y) for trace in drawn.data]
        else:
            lines = [line.get_data() for line in drawn.get_lines()]
        for (label, samples), (x, y) in zip(SHORT_RUNS.items(), lines, strict=True):
            begun = pd.to_datetime(samples[0][0], unit="s")
            since = [(pd.Timestamp(at) - begun).total_seconds() for at in x]
            self.assert_drawn(label, since, y)

    def test_own_words_win(self) -> None:
        sampler = sampler_of(SHORT_RUNS)
        assert sampler.plot(align=True, ylabel="mine").get_ylabel() == "mine"
        figure = sampler.plot(align=True, backend="plotly", labels={"value": "mine"})
        assert figure.layout.yaxis.title.text == "mine"

    def test_without_matplotlib_plotly_draws(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        sampler = sampler_of(SHORT_RUNS)
        assert len(sampler.plot(align=True).data) == 2
        with pytest.raises(ImportError, match="no matplotlib: pip install matplotlib"):
            sampler.plot(backend="matplotlib")

    def test_without_both_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.setitem(sys.modules, "plotly", None)
        sampler = sampler_of(SHORT_RUNS)
        with pytest.raises(ImportError, match=r"matplotlib or plotly.*pip install matplotlib"):
            sampler.plot()
        with pytest.raises(ImportError, match="pip install plotly"):
            sampler.plot(backend="plotly")
        monkeypatch.setitem(sys.modules, "pandas", None)
        for draw in (sampler.plot, sampler.to_pandas):
            with pytest.raises(ImportError, match="pip install pandas"):
                draw()
