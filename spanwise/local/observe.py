"""``spanwise.observe()``: Dask's own local schedulers in the panels."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import dask
from dask.callbacks import Callback

from spanwise.errors import ClusterError
from spanwise.graph.cells import follow_roots
from spanwise.graph.observe_get import WrittenGraphs, written_graphs
from spanwise.local.memory_run import LocalMemoryRun
from spanwise.local.recorder import Recorder
from spanwise.local.runs import ObservedRuns
from spanwise.notices import warn_asker
from spanwise.observed.asked_handle import AskedHandle
from spanwise.observed.find_observer import find_observer
from spanwise.observed.html import cluster_html
from spanwise.observed.observer_address import ObserverAddress
from spanwise.observed.profile_page import check_page, with_page
from spanwise.observed.questions import Questions
from spanwise.processes.fork_hook import ForkHook
from spanwise.processes.node import NodeNotFound
from spanwise.processes.this_process import default_name, notebook_path


class Observation(AskedHandle):
    """What Dask's local schedulers do, from now on until it ends; see :func:`observe`.

    Attributes
    ----------
    name
        Shown by the panels.
    status
        ``"observing"``, ``"ended"``, or ``"off"`` if there is no observer.
    began
        When, by ``time.perf_counter``.
    """

    def __init__(self, name: str | None = None) -> None:
        # Half a surrogate pair is text for Python only.
        self.name = (name or default_name()).encode("utf-8", "replace").decode()
        self.status = "off"
        self.began = perf_counter()
        self._has_block = False
        self._observer: ObserverAddress | None = None
        self._observed: Questions | None = None
        self._recorder: Recorder | None = None
        self._runs: ObservedRuns | None = None
        self._written: WrittenGraphs | None = None
        #: Why nothing is observed.
        self._why_off = ""
        #: Held while ending: several threads may cause the end.
        self._ending = threading.RLock()
        _end_switch(self.name)
        if not dask.config.get("spanwise.recording", True):
            self._why_off = "Dask's configuration has spanwise.recording: False"
            return
        try:
            self._observer = find_observer()
            self._begin(self._observer)
        except (ClusterError, NodeNotFound, OSError) as error:
            self._why_off = str(error)
            warn_asker(f"Computations run as ever, but nothing is observed: {error}")

    def _begin(self, observer: ObserverAddress) -> None:
        recorder = self._recorder = Recorder(self.name, observer)
        self._observed = Questions(RecordedLog(recorder), lambda: observer)
        self._written = written_graphs()
        follow_roots(notebook_path())
        self._written.begin()
        self._runs = ObservedRuns(recorder, self._written, self)
        recorder.keep_registered = self._runs.return_to_set
        self._runs.stay_registered()
        self.status = "observing"
        _OBSERVING.add(self)
        atexit.register(self._at_exit)

    # -- ending -----------------------------------------------------------

    def __enter__(self) -> Observation:
        self._has_block = True
        return self

    def __exit__(self, *error: object) -> None:
        self._end("closed")

    def close(self) -> None:
        """Observe no more. Panels keep the history. Twice is safe.

        Outside Jupyter nobody else holds the figures: ask for them before.
        """
        self._end("closed")
        if self._observed is not None:
            self._observed.close()
        if self._observer is not None:
            self._observer.close()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # (while it observes it is held by Dask's set of callbacks; when Python ends, its sockets
        # end by themselves, and modules that would close them have lost their names)
        observed = getattr(self, "_observed", None)
        if observed is not None and not is_finalizing():
            observed.close()

    def _at_exit(self) -> None:
        self._end("kernel-ended")

    def _end(self, why: str) -> None:
        with self._ending:
            if self.status != "observing":
                return
            self.status = "ended"
            assert self._runs is not None and self._recorder is not None
            assert self._written is not None
            self._runs.leave()
            self._written.end()
            self._recorder.keep_registered = lambda: None
            self._recorder.end(why)
            atexit.unregister(self._at_exit)

    def _let_go(self) -> None:
        """In a fork, which has none of the threads: it is the parent that observes."""
        self._ending = threading.RLock()
        if self.status != "observing":
            return
        self.status = "ended"
        assert self._runs is not None and self._recorder is not None
        assert self._written is not None
        self._runs.leave()
        self._recorder.meter.closed = True
        self._written.forget_in_child()
        atexit.unregister(self._at_exit)

    # -- questions --------------------------------------------------------

    def _asked(self) -> Questions:
        if self._observed is None:
            raise ClusterError(f"Nothing was observed: {self._why_off}")
        return self._observed

    def profile(
        self,
        key: str | None = None,
        start: float | str | None = None,
        stop: float | str | None = None,
        plot: bool | str = False,
        filename: str | Path | None = None,
        *,
        span: Any = None,
    ) -> Any:
        """In which functions threads were; as :meth:`spanwise.Client.profile`."""
        check_page(plot, filename)
        profile = self._asked().profile(key, start, stop, None, span)
        asked = {"Key": key, "From": start, "Until": stop, "Span": span}
        return with_page(profile.tree(), profile, self.name, asked, plot, filename)

    def _begin_memory_run(self, label: str, measure: str, interval: float) -> LocalMemoryRun:
        """Called by :class:`spanwise.MemorySampler`.

        Raises
        ------
        ClusterError
            It does not observe, or no longer.
        ValueError
            The measure is not known of Dask's own schedulers.
        """
        if measure != "process":
            raise ValueError(
                f"{measure} memory is not known: Dask's own schedulers do not say which results "
                'they keep. Sample with measure="process", the default.'
            )
        if self._recorder is None:
            raise ClusterError(f"Nothing is observed: {self._why_off}")
        return self._recorder.begin_memory_run(label, interval)

    # -- showing ----------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Observation {self.name!r}: {self.status}>"

    def _repr_html_(self) -> str:
        recorder = self._recorder
        if recorder is None:
            return cluster_html(None, self.name, self.status, ["nothing is observed"])
        facts = ["Dask's local schedulers"]
        return cluster_html(recorder.log.cluster_id, self.name, self.status, facts)


#: A fork must not wait for locks that the parent's threads had.
_OBSERVING: ForkHook[Observation] = ForkHook(Observation._let_go)


class RecordedLog:
    """A recorder, in the form that questions need.

    Parameters
    ----------
    recorder
        Whose log the questions are about.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.cluster_id = recorder.log.cluster_id
        self.wall_epoch = recorder.log.wall_epoch

    def wall_now(self) -> float:
        """As :meth:`Recorded.wall_now`."""
        return self.wall_epoch + self._recorder.log.since(perf_counter())

    def flush(self) -> int:
        """Send what was measured so far; returns the log's place."""
        return self._recorder.flush()

    def states_by_span(self) -> None:
        """As :meth:`Recorded.states_by_span`: Dask's own schedulers keep no states."""
        return


def observe(name: str | None = None) -> Observation:
    """Show what Dask's own schedulers run: threads, processes, sync.

    Parameters
    ----------
    name
        Shown by the panels; default: the notebook's or script's name.

    Returns
    -------
    Observation
        Use it by ``with``; or keep observing until its ``close()``, the same name again
        or the end of the process.

    Raises
    ------
    TypeError
        For a name that is no string, such as the computation itself.

    Examples
    --------
    >>> with observe("daily") as seen:                          # doctest: +SKIP
    ...     frame.compute(scheduler="threads")
    >>> seen.fine_metrics().by_activity()                       # doctest: +SKIP
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(
            f'observe() takes a name, not {type(name).__name__}: with observe("daily"): '
            '….compute(scheduler="threads")'
        )
    return Observation(name)


def _end_switch(name: str) -> None:
    """End the observation that the same cell, run before, has switched on."""
    for hooks in list(Callback.active):
        owner = getattr(getattr(hooks[0], "__self__", None), "owner", None)
        if isinstance(owner, Observation) and owner.name == name and not owner._has_block:
            owner.close()
