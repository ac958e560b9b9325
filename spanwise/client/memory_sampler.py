"""Samples the cluster's memory during a block, under a label.

The samples are taken by the scheduler, or by the process that observes Dask's own
schedulers, and shown live by the Memory panel; they are also kept here when the block ends. Of a
Dask cluster its scheduler takes them, and tells them when the block ends.
"""

from __future__ import annotations

import asyncio
import uuid
from importlib import import_module
from math import isnan
from numbers import Real
from types import TracebackType
from typing import Any, Protocol

from spanwise.client.arguments import shown
from spanwise.client.current import is_dasks_client, sampled
from spanwise.client.watched import WatchedDask
from spanwise.records.enumerations import MEMORY_MEASURES

#: The scheduler takes no longer interval.
_LONGEST_SECONDS = 86_400

#: Limit for the answer that brings the samples.
_STOP_SECONDS = 30.0


class MemorySampler:
    """Collects memory curves of several blocks to compare them.

    Attributes
    ----------
    samples
        Label to a list of (seconds since the epoch, bytes over all workers), at the begin of the
        block, at its end, and at each interval between.

    Examples
    --------
    >>> sampler = MemorySampler()
    >>> with sampler.sample("before"):                      # doctest: +SKIP
    ...     collection.compute()
    >>> sampler.plot(align=True)                            # doctest: +SKIP
    """

    def __init__(self) -> None:
        self.samples: dict[str, list[tuple[float, int]]] = {}

    def sample(
        self,
        label: str | None = None,
        *,
        client: Any = None,
        measure: str = "process",
        interval: float = 0.5,
    ) -> _Sampling:
        """Return a context manager (also an asynchronous one) that samples its block.

        Parameters
        ----------
        label
            Name of the curve; the same name again replaces it.
        client
            A client of Spanwise or of `distributed`, or what :func:`spanwise.observe` or
            :func:`spanwise.attach` returned. Default: the current client; without one, the newest
            observation that is on.
        measure
            ``"process"``: what the system counts; ``"managed"``: results in memory; ``"spilled"``:
            results on disk; ``"managed_total"``: both; ``"unmanaged"``: the process without
            results; ``"unmanaged_old"``: the least of it in the last 30 s;
            ``"unmanaged_recent"``: the rest of it; ``"optimistic"``: the process without that.
            Of an observation ``"process"`` alone, for Dask's own schedulers do not say which
            results they keep.
        interval
            Seconds between samples, at least 0.01.

        Raises
        ------
        TypeError
            The label is not text, or the interval no number.
        ValueError
            The measure is unknown, or the interval is not positive or over a day.
        """
        if label is not None and not isinstance(label, str):
            raise TypeError(f"label is a text, the name of the curve, not {shown(label)}")
        if measure not in MEMORY_MEASURES:
            raise ValueError(f"measure is one of {', '.join(MEMORY_MEASURES)}, not {measure!r}")
        says = f"interval is a positive number of seconds up to {_LONGEST_SECONDS}"
        given: Any = interval
        if isinstance(given, bool) or not isinstance(given, Real):
            raise TypeError(f"{says}, not {shown(given)}")
        if not 0 < interval <= _LONGEST_SECONDS:  # (nor is NaN)
            raise ValueError(f"{says}, not {shown(interval)}")
        return _Sampling(self, label, client, measure, float(interval))

    def to_pandas(self, *, align: bool = False) -> Any:
        """A frame with one column per label; one without samples is NaN throughout.

        Between its own first and last sample a curve keeps its value at the times of the others.

        Parameters
        ----------
        align
            Index by the time since each curve's own first sample, in place of times in UTC.

        Raises
        ------
        ImportError
            There is no pandas.
        """
        frame = self._at_their_times(align)
        if len(frame.columns) > 1:
            frame = frame.ffill().where(frame.bfill().notna())
        return frame

    def _at_their_times(self, align: bool) -> Any:
        """The same, with NaN where a curve has no sample of its own."""
        pd = _import_pandas()
        columns = {}
        for label, samples in self.samples.items():
            times = [t for t, _ in samples]
            index: Any = pd.to_datetime(pd.Index(times, dtype="float64"), unit="s")
            if align:
                index -= index.min()
            values = [nbytes for _, nbytes in samples]
            column = pd.Series(values, index=index, dtype=None if values else "float64")
            columns[label] = column[~index.duplicated()]
        return pd.DataFrame(columns)

    def plot(self, *, align: bool = False, **kwargs: Any) -> Any:
        """Draw the curves with pandas, by matplotlib or plotly; every sample is a point of a line.

        Parameters
        ----------
        align
            As of :meth:`to_pandas`.
        **kwargs
            For ``pandas.DataFrame.plot``. Without ``backend`` it is that of pandas' options, or
            plotly where matplotlib is not there.

        Returns
        -------
        object
            What pandas returns: the axes of matplotlib, or a figure of plotly.

        Raises
        ------
        ValueError
            There are no samples yet.
        ImportError
            What draws is not there.
        """
        frame = self._at_their_times(align)
        if frame.empty:
            raise ValueError("There are no samples yet: with sampler.sample(…): … takes some")
        backend = _backend(kwargs.pop("backend", None))
        # At the time of another curve's sample a curve is on the line between its own.
        seconds = (frame.index - frame.index[0]).total_seconds()
        lines = frame.set_axis(seconds).interpolate(method="index", limit_area="inside") / 2**30
        if not align:
            # (spans of time that are not regular pandas would draw by their number)
            lines = lines.set_axis(frame.index)
        x, y = "time (s)" if align else "time", "Cluster memory (GiB)"
        words: dict[str, Any] = (
            {"labels": {"index": x, "value": y, "variable": "run"}}
            if backend == "plotly"
            else {"xlabel": x, "ylabel": y}
        )
        return lines.plot(backend=backend, **{**words, **kwargs})


def _import_pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "MemorySampler has its samples in .samples; to_pandas() and plot() need pandas: "
            "pip install pandas"
        ) from error
    return pd


def _backend(wanted: str | None) -> str:
    """What pandas is to draw with."""
    backend: str = wanted or _import_pandas().get_option("plotting.backend")
    if backend not in ("matplotlib", "plotly") or _is_there(backend):
        return backend  # (of others pandas says itself that they are not there)
    if wanted is None and _is_there("plotly"):
        return "plotly"
    raise ImportError(
        f"MemorySampler.plot() draws with matplotlib or plotly, and there is no {backend}: "
        f"pip install {backend}"
    )


def _is_there(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


class MemoryRun(Protocol):
    """A block that is being sampled."""

    def stop(self) -> list[tuple[float, float]]:
        """End it; returns (seconds since the epoch, bytes over all workers)."""


class ClusterMemoryRun:
    """A block that the scheduler samples.

    Parameters
    ----------
    session
        The client's link to the scheduler.
    """

    def __init__(self, session: Any, label: str, measure: str, interval: float) -> None:
        self._session = session
        # Of both messages: who waits at the end is told that the first was not taken.
        self._request, self._answers = session.open_request("memoryRunEnded")
        self._fields = {
            "request": self._request,
            "run": self._request,
            "label": label,
            "measure": measure,
            "intervalSeconds": interval,
        }
        try:
            session.send("memoryRun", {**self._fields, "state": "start"})
        except BaseException:
            session.close_request(self._request)
            raise

    def stop(self) -> list[tuple[float, float]]:
        session = self._session
        try:
            session.send("memoryRun", {**self._fields, "state": "stop"})
            answer = session.next_answer(self._answers, "memoryRun", _STOP_SECONDS)
        finally:
            session.close_request(self._request)
        offset = session.wall_epoch - session.scheduler_start
        return [(t + offset, nbytes) for t, nbytes in answer.table("samples")]


class _Sampling:
    """One block being sampled; single use."""

    def __init__(
        self,
        sampler: MemorySampler,
        label: str | None,
        client: Any,
        measure: str,
        interval: float,
    ) -> None:
        self._sampler = sampler
        self._label = label or uuid.uuid4().hex
        self._client = client
        self._measure = measure
        self._interval = interval
        self._run: MemoryRun | None = None

    def _start(self) -> None:
        if self._run is not None:
            raise RuntimeError("this sampling has been used; call sample() again")
        found = sampled(self._client)
        if is_dasks_client(found):
            found = WatchedDask(found)
        begin = getattr(found, "_begin_memory_run", None)
        if begin is None:
            raise TypeError(
                "client is a spanwise.Client, a distributed.Client, or what spanwise.observe() or "
                f"spanwise.attach() returned, not {type(self._client).__name__}"
            )
        self._run = begin(self._label, self._measure, self._interval)

    def _end(self, error: BaseException | None) -> None:
        """Stop; an error of stopping becomes a note of the block's own error."""
        assert self._run is not None
        try:
            samples = self._run.stop()
            self._sampler.samples[self._label] = [
                (t, round(nbytes)) for t, nbytes in samples if not isnan(nbytes)
            ]
        except Exception as own:
            if error is None:
                raise
            error.add_note(f"(Besides, the memory samples of {self._label!r} are lost: {own})")

    def __enter__(self) -> None:
        self._start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(error)

    async def __aenter__(self) -> None:
        await asyncio.to_thread(self._start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._end, error)


__all__ = ["MemorySampler"]
