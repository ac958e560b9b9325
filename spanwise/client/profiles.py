"""A client's `profile`: in which functions the workers' threads were."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path
from time import localtime, strftime
from typing import TYPE_CHECKING, Any

from spanwise.client.arguments import flag_of, shown, workers_of
from spanwise.client.observed import Observed
from spanwise.client.on_workers import machinery_here
from spanwise.errors import ClusterError
from spanwise.observed.profile_page import check_page, with_page
from spanwise.observed.profiles import Profile, profile_of_stacks
from spanwise.observed.questions import moment
from spanwise.observed.scheduler_profile import SchedulerProfile

if TYPE_CHECKING:
    from spanwise.client.session import Session


class ProfileMethods:
    """The part of a client that gives profiles."""

    if TYPE_CHECKING:
        asynchronous: bool
        _session: Session
        _observed: Observed

        def _call(self, function: Callable[..., Any], *args: Any) -> Any: ...

        def _run_everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]: ...

    def profile(
        self,
        key: str | None = None,
        start: float | str | None = None,
        stop: float | str | None = None,
        workers: Any = None,
        merge_workers: bool = True,
        plot: bool | str = False,
        filename: str | Path | None = None,
        server: bool = False,
        scheduler: bool = False,
        *,
        span: Any = None,
    ) -> Any:
        """In which functions the workers' threads were while they ran tasks.

        Threads are looked at up to a hundred times a second
        (``distributed.worker.profile.interval``), less often where that would take a worker over
        0.5 % of what its tasks get of a core; a thread's samples are its busy time in intervals.

        Parameters
        ----------
        key
            Prefix of the tasks' keys, such as ``"inc"``. Of a fused task, each part counts for
            its own.
        start, stop
            Wall clock, seconds since the epoch, or a text such as ``"500 ms"``: that long ago.
            Whole seconds count, those of the cluster's clock that the range touches.
        workers
            Addresses, names or numbers; one, or several. Unknown ones are passed over, for a
            worker that has gone is known by its address alone.
        merge_workers
            False: a tree for each worker's address.
        plot
            True: also a page that shows the profile; ``"save"``: written to
            ``dask-profile.html`` too.
        filename
            Where to write the page: one HTML file that needs neither server nor network.
        server
            What workers do besides tasks: their own threads, which read messages, fetch and
            serve data, run what ``client.run`` sends; by their CPU time, of the last 1000
            seconds, of workers that live (on Linux). It has neither `key` nor `span`.
        scheduler
            In which functions the scheduler's process was, from the first such question on (or
            from its start, with the setting ``spanwise.scheduler.profile: True``). The root
            also has ``since``, from when on there are samples, in seconds of the wall clock, or
            None. It has neither `key` nor `span` nor workers, and goes before `server`.
        span
            A tag (at any depth), a tuple of tags (the path from the root), or a SpanInfo; the
            whole subtree counts.

        Raises
        ------
        ValueError
            There is no such span; the error lists those that are near.

        Returns
        -------
        dict, or (dict, Page) with `plot` or `filename`
            The root of a tree of functions: ``identifier`` (name;file;line), ``description``
            (``filename``, ``name``, ``line_number`` and text ``line`` at which the function
            begins), ``count`` (samples of the function and of all that it called) and
            ``children`` by identifier.
        """
        if key is not None and not isinstance(key, str):
            raise TypeError(f"key is a prefix of tasks' keys, such as 'inc', not {shown(key)}")
        check_page(plot, filename)
        merge_workers = flag_of(merge_workers, "merge_workers")
        server = flag_of(server, "server")
        if flag_of(scheduler, "scheduler"):
            if key is not None or span is not None or workers is not None:
                raise ValueError("key=, span= and workers= are of tasks: scheduler=True has none")
            return self._call(self._profile_of_scheduler, start, stop, plot, filename)
        if server and (key is not None or span is not None):
            raise ValueError("key= and span= are of tasks: server=True is what workers do besides")
        wanted = None if workers is None else workers_of(workers)
        selection = key, start, stop, wanted, span
        return self._call(self._profile, selection, merge_workers, plot, filename, server)

    def _profile(
        self,
        selection: tuple[Any, ...],
        merge_workers: bool,
        plot: bool | str,
        filename: str | Path | None,
        server: bool,
    ) -> Any:
        key, start, stop, wanted, span = selection
        running = [row["address"] for row in self._session.running_workers()]
        workers = None if wanted is None else self._addresses_of(wanted)
        if server:
            profile = self._of_machinery(start, stop, workers, not merge_workers)
        else:
            profile = self._observed.profile(key, start, stop, workers, span, not merge_workers)
        if merge_workers:
            found = profile.tree()
        else:
            # (those that run and have no samples are there too)
            found = profile.trees([each for each in running if workers is None or each in workers])
        asked = {"Key": key, "From": start, "Until": stop, "Span": span, "Workers": workers}
        title = "Workers besides tasks" if server else "Functions of tasks"
        return with_page(found, profile, self._session.name, asked, plot, filename, title)

    def _addresses_of(self, wanted: list[Any]) -> list[str]:
        """What the workers are called in the log; of one that is not there, as it was given."""
        session = self._session
        found: list[str] = []
        for one in wanted:
            ids = session.workers_called(one, closing=True)
            found += [session.workers[each]["address"] for each in ids if each in session.workers]
            found += [] if ids else [str(one)]
        return found

    def _profile_of_scheduler(
        self, start: Any, stop: Any, plot: bool | str, filename: str | Path | None
    ) -> Any:
        session = self._session
        profile, first = self._of_scheduler(start, stop)
        found = {**profile.tree(), "since": first}
        begun = None if first is None else strftime("%Y-%m-%d %H:%M:%S", localtime(first))
        asked = {"From": start, "Until": stop, "Samples since": begun}
        return with_page(found, profile, session.name, asked, plot, filename, "Scheduler")

    def _of_scheduler(
        self, start: Any, stop: Any, begins: bool = True
    ) -> tuple[Profile, float | None]:
        """The profile, and from when on there are samples (wall clock).

        Parameters
        ----------
        begins
            Whether the scheduler is to look at itself from now on, if it does not yet.
        """
        session = self._session
        epoch, now = session.wall_epoch, session.wall_now()
        since, until = moment(start, now), moment(stop, now)
        question = {"about": "profile", "begins": begins}
        answer = session.ask("question", question, {"ids": []})
        told = SchedulerProfile(bytes(answer.blobs[0]))
        if told.why:
            raise ClusterError(f"The scheduler cannot be looked at: {told.why}")
        profile = told.between(
            -inf if since is None else since - epoch, inf if until is None else until - epoch
        )
        return profile, None if told.since is None else told.since + epoch

    def _of_machinery(
        self, start: Any, stop: Any, workers: list[str] | None, by_worker: bool
    ) -> Profile:
        epoch = self._session.wall_epoch
        now = self._session.wall_now()
        since, until = moment(start, now), moment(stop, now)
        # Each worker's answer comes with its address, also if others do not answer.
        answers = self._run_everywhere(
            machinery_here,
            -inf if since is None else since - epoch,
            inf if until is None else until - epoch,
        )
        stacks = {
            address: found
            for address, (_, found) in answers.items()
            if workers is None or address in workers
        }
        seconds = max((interval for interval, _ in answers.values()), default=0.0)
        return profile_of_stacks(stacks, seconds, by_worker)
