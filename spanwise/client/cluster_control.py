"""More workers, fewer, others: what a client, or a cluster, commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, Self

from spanwise.client.arguments import seconds_of, workers_of
from spanwise.client.launch import MOST_WORKERS, check_workers
from spanwise.client.queries import info_of_workers, tasks_seen
from spanwise.client.reason import WITH_RESTART
from spanwise.client.session import ANSWER_TO, Session
from spanwise.errors import ClusterError, SchedulerLost
from spanwise.notices import tell

#: The scheduler gives up moving results after a minute, and ends what still runs there ten
#: seconds after it was asked to.
_RETIRE_SECONDS = 180.0
#: What it answers at once.
_ANSWER_SECONDS = 30.0


def command(
    session: Session, what: str, timeout: float | None = _ANSWER_SECONDS, **fields: Any
) -> tuple[list[int], str]:
    """The numbers of the workers that it was done to, and why not to others."""
    answer = session.ask("command", {"what": what, **fields}, timeout=timeout)
    others = answer.fields["others"]
    if others > 0:
        are = "another client uses" if others == 1 else f"{others} other clients use"
        raise ClusterError(
            f"The cluster was not restarted: {are} it, whose tasks would run again and whose data "
            "of scatter() would be lost. restart(force=True) restarts it all the same; "
            "client.cancel(futures) gives up this client's own tasks alone, and "
            "Client(n_workers=…) makes a cluster of its own."
        )
    return answer.fields["workers"], answer.fields["sentence"]


class Begun:
    """A command of an asynchronous client, which has begun: it may be awaited, and need not be.

    `distributed` has such calls begin in its event loop, also where nobody awaits them.
    """

    #: None that any request has.
    _request = 0

    def __init__(self, session: Session, what: str, **fields: Any) -> None:
        self._session = session
        self._what = what
        self._request, self._answers = session.open_request(ANSWER_TO["command"])
        session.send("command", {"what": what, **fields, "request": self._request})

    def __await__(self) -> Generator[Any, None, None]:
        return self._answered().__await__()

    async def _answered(self) -> None:
        answer = partial(self._session.next_answer, self._answers, self._what, _ANSWER_SECONDS)
        # Each that awaits it leaves the answer to the next one.
        try:
            self._answers.put(await asyncio.to_thread(answer))
        except SchedulerLost as lost:
            self._answers.put(lost)
            raise

    def __del__(self) -> None:
        self._session.close_request(self._request)


def scale(session: Session, count: Any, awaited: bool) -> Begun | None:
    """Have so many workers; returns before they have come or gone.

    Parameters
    ----------
    awaited
        Return what may be awaited, as soon as the scheduler is told; else return when it has heard.
    """
    count = check_workers("n", count)
    if awaited:
        return Begun(session, "scale", count=count)
    command(session, "scale", count=count)
    return None


class Adaptive:
    """The range in which the number of workers follows the work.

    Attributes
    ----------
    minimum, maximum
        Fewest and most workers.
    """

    def __init__(self, session: Session, minimum: Any, maximum: Any) -> None:
        self._session = session
        self.minimum = check_workers("minimum", minimum)
        self.maximum = check_workers("maximum", maximum)
        if self.minimum > self.maximum:
            raise ValueError(f"minimum={minimum} is more than maximum={maximum}")
        self._command(minimum=self.minimum, maximum=self.maximum)

    def stop(self) -> Any:
        """Leave the number of workers as it is."""
        return self._command(maximum=None)

    def _command(self, **fields: Any) -> Any:
        command(self._session, "adapt", **fields)

    def __repr__(self) -> str:
        return f"<Adaptive: {self.minimum} to {self.maximum} workers>"


class AwaitedAdaptive(Adaptive):
    """Of an asynchronous client: it begins and stops at once. Awaited, it is itself."""

    _begun: Begun

    def _command(self, **fields: Any) -> Begun:
        self._begun = Begun(self._session, "adapt", **fields)
        return self._begun

    def __await__(self) -> Generator[Any, None, Self]:
        yield from self._begun.__await__()
        return self


def adapt(session: Session, minimum: Any, maximum: Any, awaited: bool) -> Adaptive:
    """Adapt within a range; without a maximum to twice the workers there are, or `minimum`.

    `awaited`: as of :func:`scale`.
    """
    if maximum is None:
        twice = min(MOST_WORKERS, 2 * max(1, len(session.running_workers())))
        maximum = max(check_workers("minimum", minimum), twice)
    kind = AwaitedAdaptive if awaited else Adaptive
    return kind(session, minimum, maximum)


class ClusterControl:
    """Commands of a client; mixed into :class:`Client`."""

    _session: Session
    _timeout: float | None
    asynchronous: bool

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        raise NotImplementedError

    def _worker_ids(self, named: Any) -> list[int]:
        raise NotImplementedError

    def scale(self, n: int) -> Any:
        """Have `n` workers; returns before they have come or gone.

        Those that go hand their results to the others first. With 0 nobody can take them: they
        are computed again when there are workers, and data of `scatter` is lost.

        With an asynchronous client it begins at once too; awaiting it is left to you.
        """
        return scale(self._session, n, self.asynchronous)

    def adapt(self, minimum: int = 0, maximum: int | None = None) -> Any:
        """Have as many workers as the work is worth.

        Looked at each second: so many that the tasks that wait and run would end in five
        seconds, as far as their durations are known, and no more than they can fill. More come at
        once; only idle ones go, after three looks in a row.

        Parameters
        ----------
        minimum, maximum
            Fewest and most workers; default of the most: twice as many as there are, or `minimum`.

        Returns
        -------
        Adaptive
            Its ``stop()`` ends that, as :meth:`scale` does.
        """
        return adapt(self._session, minimum, maximum, self.asynchronous)

    def retire_workers(self, workers: Any = None, close_workers: bool = True, **kwargs: Any) -> Any:
        """Let workers go when others have copies of the results that they alone hold.

        They get no more tasks; what runs there may end for ten seconds, and then runs again
        elsewhere.

        Parameters
        ----------
        workers
            Addresses, names or numbers; default: those without work, without the last one.
        close_workers
            False: they stay, without tasks.

        Returns
        -------
        dict
            Address of each worker that has gone to what was known of it. A warning says why others
            stay: nobody could take their results.
        """
        named = None if workers is None else workers_of(workers)
        return self._call(self._retire_workers, named, close_workers)

    def _retire_workers(self, named: list[Any] | None, close: bool) -> dict[str, dict[str, Any]]:
        session = self._session
        if named is None:
            busy = {task.worker for task in tasks_seen(session, states=["processing"])}
            rows = session.running_workers()
            chosen = [row["id"] for row in rows if row["id"] not in busy]
            chosen = chosen[1:] if len(chosen) == len(rows) else chosen
        else:
            # Who asks for one that goes already is told when it has gone.
            chosen = [each for one in named for each in session.workers_called(one, closing=True)]
            self._worker_ids(
                [one for one in named if not session.workers_called(one, closing=True)]
            )
        infos = info_of_workers(session, closing=True)
        known = {info["id"]: address for address, info in infos.items()}
        gone, sentence = command(
            session, "retire", _RETIRE_SECONDS, workers=chosen, closes=bool(close)
        )
        if sentence:
            tell(sentence)
        return {known[each]: infos[known[each]] for each in gone if each in known}

    def restart(
        self,
        timeout: float | str | None = None,
        wait_for_workers: bool = True,
        *,
        force: bool = False,
    ) -> Any:
        """Give up all tasks and results, and put new workers in the place of all.

        All futures are cancelled.

        Parameters
        ----------
        timeout
            Seconds to wait for the workers; default: four times the client's.
        wait_for_workers
            Return when the new ones run.
        force
            Restart it although other clients use it: what they hold is computed again, and data
            that they put there by `scatter` is lost.

        Raises
        ------
        ClusterError
            Other clients use it; nothing was done.
        TimeoutError
        """
        limit = self._patience(timeout)
        return self._call(self._restart, limit, wait_for_workers, bool(force))

    def _restart(self, timeout: float | None, wait: bool, force: bool) -> None:
        session = self._session
        if not force:
            command(session, "restart", workers=[], alone=True)
        session.cancel_all(WITH_RESTART)
        rows = session.running_workers()
        done, _ = command(session, "restart", workers=[row["id"] for row in rows])
        if wait:
            session.wait_for_workers(len(done), timeout)

    def restart_workers(
        self,
        workers: Sequence[Any],
        timeout: float | str | None = None,
        raise_for_error: bool = True,
    ) -> Any:
        """Put new workers in the place of these; what they held is computed again.

        Parameters
        ----------
        workers
            Addresses, names or numbers.
        timeout
            Seconds to wait for the new ones; default: four times the client's.
        raise_for_error
            False: what did not come in time is said in the answer.

        Returns
        -------
        dict
            Each of `workers` to ``"OK"`` or ``"timed out"``.

        Raises
        ------
        ValueError
            No worker is called so.
        TimeoutError
        """
        limit = self._patience(timeout)
        return self._call(self._restart_workers, workers_of(workers), limit, raise_for_error)

    def _restart_workers(
        self, workers: list[Any], timeout: float | None, raise_for_error: bool
    ) -> dict[Any, str]:
        session = self._session
        chosen = self._worker_ids(workers)
        count = len(session.running_workers())
        command(session, "restart", workers=chosen)
        try:
            session.wait_for_workers(count, timeout)
        except TimeoutError:
            if raise_for_error:
                raise
            return dict.fromkeys(workers, "timed out")
        return dict.fromkeys(workers, "OK")

    def _patience(self, timeout: Any) -> float | None:
        """Seconds to wait for new workers; None: no limit, as ``math.inf`` asks for."""
        if timeout is not None:
            return seconds_of(timeout)
        return None if self._timeout is None else 4 * self._timeout
