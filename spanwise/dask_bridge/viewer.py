"""Watches one Dask cluster: pulls from the plugin on its scheduler, and writes the log.

One thread with an event loop of its own::

    reach ─► ship the plugin ─► pull ─► write rows ─► pause ─► pull …
      ▲                          │ the connection broke, or the plugin is gone
      └───── 0.25 s … 2 s ◄──────┘

A pull asks for what is new since the answer before. The plugin leaves by itself when nobody pulls
for :data:`LEASE_SECONDS`. A second call waits at the scheduler until that closes: then what is new
is pulled, and the log ends. A scheduler that does not answer is asked again for half an hour
(`outage.py`).
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic, time
from typing import Any

from spanwise.dask_bridge.dask_log import DaskLog
from spanwise.dask_bridge.outage import Outage
from spanwise.dask_bridge.pulled import Pulled, UnreadableAnswer, read_answer
from spanwise.dask_bridge.reach import (
    AnsweredBadly,
    host_of,
    is_answered_plainly,
    is_cut_off,
    knock,
    lost_because,
    open_rpc,
    why_not,
)
from spanwise.dask_bridge.sample_pull import SamplePull
from spanwise.dask_bridge.sample_times import (
    CYCLE_SECONDS,
    LAG_SECONDS,
    PAUSE_SECONDS,
    SampleTimes,
)
from spanwise.dask_bridge.ship import OPERATION, PluginForbidden, ask, ship
from spanwise.errors import ClusterError
from spanwise.notices import tell
from spanwise.observed.observer_address import ObserverAddress
from spanwise.source.observer_link import ObserverLink
from spanwise.source.replay_ring import LogGap

#: The plugin stays this long for a viewer that does not pull: longer than a network is away for
#: mostly. What happens meanwhile waits in its ring.
LEASE_SECONDS = 60.0
#: The pause between pulls while something happens; while nothing does, it doubles each time, up to
#: the second.
_BUSY_SECONDS, _QUIET_SECONDS = 0.5, 2.0
#: The pauses after the first pulls: who has just attached waits for figures, and a line of memory
#: needs the second heartbeat of a worker.
_FIRST_RESTS = (0.1, 0.25, 0.25, 0.25)
#: Rows of an answer.
_LIMIT = 4_000
#: The time limit of questions to Dask itself, which may ask its workers.
_ASK_SECONDS = 30.0
#: The time limit of a caller's pulls, by which all comes that was there when the caller asked.
_FLUSH_SECONDS = 10.0
#: Workers tell their sums twice a second, those of large clusters more seldom. To wait until all
#: have: the pause between two looks, and the time limit.
_HEARTBEAT_SECONDS, _HEARTBEATS_SECONDS = 0.1, 10.0
#: The pause is at least so many times as long as the look took, which asks the scheduler for all of
#: its sums.
_HEARTBEAT_PAUSES = 4.0
#: A heartbeat that comes sooner after the question may have left its worker before it.
ON_THE_WAY_SECONDS = 0.1
_END_SECONDS = 5.0
#: Between looks whether another viewer has attached.
_CLAIM_SECONDS = 0.05
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 2.0
#: A call that waits for the scheduler's end takes no longer; then there is another.
_LISTEN_SECONDS = 30.0
_LISTEN_AGAIN_SECONDS = 0.5
#: Between looks at the time for samples.
_TICK_SECONDS = 0.25
#: So far back samples are shown that were taken before attaching; the workers may take this long to
#: say whether they have some.
_HISTORY_SECONDS, _HISTORY_LIMIT = 300.0, 1.0
_CLOCKS_KEPT = 16
#: Of pairs of workers and types of results.
_MOST_BANDWIDTHS = 200_000
#: A scheduler that has not answered by then is looked for by a plain connection.
_SOON_SECONDS = 1.5
#: Of what there is too much of, what is said of that of which the plugin does not tell.
_NOT_TOLD = {
    "bandwidth": "Of {} pairs of workers at {} the bandwidths are not told.",
    "executing": "{} tasks that run at {} are not shown until they have ended.",
    "fine": "{} fine metrics of tasks at {} are not told, or as they were before: they are not "
    "finite, or above 4.6e18.",
}
_WANT = ["workers", "clients", "spans", "fine", "memory", "executing", "bandwidth", "loop"]


class AlreadyWatched(Exception):
    """Another viewer of this process watches the scheduler."""


class Viewer:
    """Watches a cluster from :meth:`begin` until it is closed.

    Parameters
    ----------
    address
        Of the scheduler.
    security
        A `distributed.Security`.
    name
        Shown by the panels.
    find
        Finds the observer.
    seconds
        For each answer of the scheduler.
    is_closed
        Whether the cluster was closed, as far as this process knows; asked when the scheduler
        does not answer.

    Attributes
    ----------
    log
        What is written; another one if the scheduler was restarted, or takes no plugins and its
        clock turns out to be another one.
    status
        ``"connecting"``, ``"watching"``, ``"reconnecting"`` or ``"closed"``.
    problem
        Why it is reconnecting, or has ended by itself; ``""`` if neither.
    lacks
        Why the scheduler tells a part only; ``""`` if it tells all.
    newest
        The answer that came last.
    """

    def __init__(
        self,
        address: str,
        security: Any,
        name: str,
        find: Callable[[], ObserverAddress],
        seconds: float,
        is_closed: Callable[[], bool] = bool,
    ) -> None:
        self.address = address
        self.name = name
        self.status = "connecting"
        self.problem = ""
        self.lacks = ""
        self.log: DaskLog | None = None
        self.newest: Pulled | None = None
        self._bandwidths: dict[tuple[Any, Any, Any], float] = {}
        #: Of the last pulls: seconds of the round trip, and what the scheduler's clock is ahead.
        self._offsets: deque[tuple[float, float]] = deque(maxlen=_CLOCKS_KEPT)
        self._security = security
        self._find = find
        self._seconds = seconds
        self._is_closed = is_closed
        self._id = uuid.uuid4().hex
        self._observer: ObserverAddress | None = None
        self._link: ObserverLink | None = None
        #: The last block of the log that was sent, when it has ended: what is written later is not.
        self._last_seq = 0
        self._rpc: Any = None
        #: In its place, of a scheduler that takes no plugins; what it knows outlasts a connection.
        self._without_code: Any = None
        self._plugin, self._cursor, self._state = "", -1, -1
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False
        #: When the scheduler began to close, as it has said; 0.0: it has not.
        self._closed_at = 0.0
        #: Whether all was pulled that there was when it closed.
        self._has_seen_end = False
        self._outage: Outage | None = None
        #: A log ends once.
        self._ending = threading.Lock()
        self._wake: asyncio.Event | None = None
        #: One pull at a time.
        self._turn: asyncio.Lock | None = None
        self._samples = SamplePull(address, security, seconds)
        #: Of which log.
        self._sampled: tuple[DaskLog | None, SampleTimes] = (None, SampleTimes(0.0))
        self._samples_turn: asyncio.Lock | None = None
        self._said_of_samples = ""
        #: The scheduler did not answer the last question for samples.
        self._had_no_samples = False
        self._said_of_more: set[str] = set()
        self._said_of_problems: set[str] = set()
        self._claim: Callable[[str], bool] | None = None
        self._begun: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="spanwise-dask", daemon=True)

    def begin(self, claim: Callable[[str], bool] | None = None) -> None:
        """Attach; returns when the first answer is written.

        Parameters
        ----------
        claim
            Gets the scheduler's id before anything is shown; False: ask again soon, another
            viewer attaches to it just now. What it raises, this raises.

        Raises
        ------
        ClusterError
            The scheduler cannot be reached, or cannot be watched: why, and what to do.
        """
        self._claim = claim
        self._thread.start()
        try:
            self._begun.result()
        except BaseException:
            # (of a user who waits no longer, too: nobody would have a handle of it)
            self.close()
            if self._observer is not None:
                self._observer.close()
            raise

    @property
    def is_closing(self) -> bool:
        """Whether it was told to watch no more."""
        return self._closing

    @property
    def scheduler(self) -> str:
        """The id of the scheduler that answered last; ``""``: none did."""
        return "" if self.newest is None else self.newest.scheduler

    @property
    def observer(self) -> ObserverAddress | None:
        """Where the log goes."""
        return self._observer

    @property
    def bandwidths(self) -> list[tuple[Any, Any, Any, float]]:
        """What the scheduler has told of them: kind, receiver or type, sender, bytes a second."""
        return [(*label, value) for label, value in list(self._bandwidths.items())]

    @property
    def clock_offset(self) -> float:
        """Seconds that the scheduler's clock is ahead of this process's, by the quickest answer."""
        return self._clock[0]

    @property
    def _clock(self) -> tuple[float, float]:
        """The offset, and by how much it may be wrong."""
        seconds, offset = min(self._offsets, default=(0.0, 0.0))
        return offset, seconds / 2

    def flush(self) -> int:
        """Pull all that the scheduler has now; returns the log's place.

        While the scheduler cannot be reached, what was pulled before is all there is.
        """
        self._wait_for(self._pull_all, _FLUSH_SECONDS)
        log, link = self.log, self._link
        if log is None:
            raise ClusterError(f"The Dask cluster at {self.address} is not watched.")
        if link is None:
            return self._last_seq
        seq = log.seal_all()
        link.wait_for(seq, _FLUSH_SECONDS)
        return seq

    def flush_sums(self) -> float | None:
        """Wait until each worker has told what it has measured until now: with its heartbeat.

        Of workers that do not tell for long, what they told before is all there is.

        Returns
        -------
        until
            When the last of those that did tell had done so, in the scheduler's time; None: none
            has.
        """
        told: list[float] = []
        self._wait_for(
            lambda: self._pull_heartbeats(told.append), _FLUSH_SECONDS + _HEARTBEATS_SECONDS
        )
        return told[-1] if told else None

    def why_not_watched(self) -> str:
        """A sentence on why what happens now is not known; '': it is, or nothing does."""
        if self.status == "watching" or self._has_seen_end:
            return ""
        return self._why_ended()

    def _why_ended(self) -> str:
        return self.problem or f"The Dask cluster at {self.address} was let go of."

    def flush_samples(self) -> None:
        """Take the samples until now: when this second of the workers has ended, and one more.

        While the scheduler cannot be reached, what was taken before is all there is.
        """
        self._wait_for(self._take_samples_until_now, _FLUSH_SECONDS + LAG_SECONDS)

    def ask(self, operation: str, **fields: Any) -> Any:
        """Have the scheduler do one of Dask's own operations; of its answer nothing is believed.

        Raises
        ------
        ClusterError
            It cannot be reached, does not answer, or refuses.
        """
        loop, rpc = self._loop, self._rpc
        if loop is None or rpc is None or self.status != "watching":
            raise ClusterError(self._why_ended())
        scheduler = rpc.scheduler if rpc is self._without_code else rpc

        async def asked() -> Any:
            return await ask(getattr(scheduler, operation)(**fields), _ASK_SECONDS)

        asking = asked()
        try:
            waiting = asyncio.run_coroutine_threadsafe(asking, loop)
        except RuntimeError:  # (the loop has just ended)
            asking.close()
            raise ClusterError(self._why_ended()) from None
        try:
            # (a loop that ends may leave it undone)
            return waiting.result(_ASK_SECONDS + _END_SECONDS)
        except (OSError, TimeoutError) as error:
            raise ClusterError(why_not(self.address, error)) from None
        except Exception as error:  # noqa: BLE001 (whatever was raised there)
            raise ClusterError(
                f"The scheduler at {self.address} does not do {operation!r}: {error}"[:500]
            ) from None

    def _wait_for(self, work: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
        """Have the thread do something, if it watches; of what fails there the thread tells."""
        loop = self._loop
        if loop is None or self.status != "watching":
            return
        begun = work()
        try:
            waiting = asyncio.run_coroutine_threadsafe(begun, loop)
        except RuntimeError:  # (the loop has just ended)
            begun.close()
            return
        with suppress(Exception):
            waiting.result(seconds)

    def close(self, why: str = "closed") -> None:
        """Watch no more: the plugin leaves if nobody else pulls. Twice is safe."""
        loop, wake = self._loop, self._wake
        self._closing = True
        if loop is not None and wake is not None:
            with suppress(RuntimeError):  # (it has ended)
                loop.call_soon_threadsafe(wake.set)
            self._thread.join(_END_SECONDS)
        # (where the thread has ended the log, this does nothing)
        self._end_log(why, self._why_let_go(why), unwatched=True)
        self.status = "closed"

    def _why_let_go(self, why: str) -> str:
        """Half a sentence, which says only what is known of the cluster."""
        if why == "kernel-ended":
            return "the kernel or program that watched the cluster has ended"
        if self._is_known_closed:
            return "the cluster was let go"
        if self.status != "watching":
            return "the cluster was let go while it did not answer"
        return "the cluster was let go and went on"

    @property
    def _is_known_closed(self) -> bool:
        """Whether its scheduler has said that it closes, or this process has closed it."""
        return self._closed_at > 0.0 or self._is_closed()

    def forget_in_child(self) -> None:
        """In a fork, which has none of the threads: it is the parent that watches."""
        self._loop = self._link = self._rpc = None
        self._closing, self.status = True, "closed"

    # -- the thread -------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
            # (who closes a cluster often lets go of it at once)
            if self._is_known_closed or not self._closing:
                self._end_by_itself()
        except BaseException as error:  # noqa: BLE001 (said: nobody else hears of it)
            said = f"{type(error).__name__}: {error}"[:500]
            if self._begun.done():
                self.problem, self.status = said, "closed"
                tell(f"The Dask cluster at {self.address} is watched no more: {said}")
                self._end_log("closed", "watching has failed", unwatched=True)
            elif isinstance(error, (ClusterError, AlreadyWatched)):
                self._begun.set_exception(error)
            else:
                said = f"The Dask cluster at {self.address} cannot be watched: {said}"
                self._begun.set_exception(ClusterError(said))
        finally:
            self._loop = None

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._wake, self._turn = asyncio.Event(), asyncio.Lock()
        self._samples_turn = asyncio.Lock()
        try:
            await self._first()
        except BaseException:
            await self._leave()
            await self._close_samples()
            if self._observer is not None:
                self._observer.close()
            raise
        self._begun.set_result(None)
        beside = [asyncio.ensure_future(each) for each in (self._sample(), self._listen())]
        pause, rest = _FIRST_PAUSE, _BUSY_SECONDS
        soon = iter(_FIRST_RESTS)
        await self._rest(next(soon))
        try:
            while not self._closing:
                self._wake.clear()
                try:
                    busy = await self._step()
                    if self.newest is not None and self.newest.closing > 0.0:
                        break
                    pause = _FIRST_PAUSE
                    rest = _BUSY_SECONDS if busy else min(2 * rest, _QUIET_SECONDS)
                    await self._rest(next(soon, rest))
                except (OSError, TimeoutError, ClusterError) as error:
                    if self._is_known_closed or self._is_out_for_long(error):
                        break
                    await self._let_go()
                    await self._rest(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            for each in beside:
                each.cancel()
            await self._leave()
            await self._close_samples()

    async def _first(self) -> None:
        """Reach it, and write the first answer."""
        finding: asyncio.Future[ObserverAddress] | None = None
        try:
            await self._reach_soon()
            # (it may have to start, beside what follows)
            finding = asyncio.get_running_loop().run_in_executor(None, self._find)
            pulled = await self._pull()
            sampled = await self._sampled_since(pulled)
        except (OSError, TimeoutError, ValueError) as error:
            if isinstance(error, ValueError) and not is_answered_plainly(error):
                raise
            raise ClusterError(why_not(self.address, error)) from None
        finally:
            if finding is not None:
                await asyncio.wait({finding})
                if finding.exception() is None:
                    self._observer = finding.result()
        self._observer = finding.result()
        self._plugin = pulled.plugin  # (which is told if this viewer leaves)
        while self._claim is not None and not self._claim(pulled.scheduler):
            await asyncio.sleep(_CLAIM_SECONDS)
        if self._closing:
            raise ClusterError(f"Nobody waits for the Dask cluster at {self.address} any more.")
        self._begin_log(pulled, sampled)
        self._write(pulled)
        self.status = "watching"

    async def _reach_soon(self) -> None:
        """Reach it; where nobody listens that is said sooner than Dask would."""
        reached = asyncio.ensure_future(self._reach())
        if not (await asyncio.wait({reached}, timeout=_SOON_SECONDS))[0]:
            try:
                await knock(self.address, self._seconds)
            except BaseException:
                reached.cancel()
                raise
        await reached

    async def _reach(self) -> None:
        self._rpc = open_rpc(self.address, self._security, self._seconds)
        try:
            await ship(self._rpc, self._seconds)
        except PluginForbidden as error:
            if self._without_code is None:
                # (it imports distributed, which may not be there when this file is imported)
                from spanwise.dask_bridge.without_code import WithoutCode

                self._without_code = WithoutCode(self._rpc, self._seconds)
                self.lacks = str(error)
                tell(f"{error} Until then tasks that have ended, workers and memory are shown.")
            self._without_code.scheduler = self._rpc
            self._rpc = self._without_code

    def _is_out_for_long(self, error: Exception) -> bool:
        """The scheduler did not answer: say so; returns whether it is asked no more."""
        log, newest = self.log, self.newest
        assert log is not None and newest is not None
        outage = self._outage
        if outage is None:
            outage = self._outage = Outage(newest.now, self.clock_offset)
        because = lost_because(self.address, error)
        if because != outage.because:
            outage.because = because
            outage.has_answered = isinstance(error, AnsweredBadly)
            log.unreachable(because, outage.until, outage.has_answered)
        # (who sees that it is reconnecting may ask why)
        self.problem = outage.sentence()
        self.status = "reconnecting"
        return outage.is_too_long

    def _end_by_itself(self) -> None:
        """The cluster was closed, or was not reached for too long."""
        log, outage, newest = self.log, self._outage, self.newest
        assert log is not None and newest is not None
        told = "the cluster was closed"
        at = seen = max(log.now, self._closed_at or time() + self.clock_offset)
        is_given_up = outage is not None and outage.is_too_long
        if outage is not None and is_given_up:
            told = outage.end()
            at, seen = outage.until, outage.noticed
            tell(f"The Dask cluster at {self.address} is watched no more: {told}.")
        self._has_seen_end = newest.closing > 0.0 and not newest.waiting
        if not self._has_seen_end:
            log.unseen(log.now, seen)
        self.problem = f"{told[0].upper()}{told[1:]}."
        # (of one that is given up nobody knows whether it goes on)
        self._end_log("closed", told, at, unwatched=is_given_up)
        self.status = "closed"

    async def _listen(self) -> None:
        """Wait to be told that the scheduler closes; then, that the one in its place does."""
        assert self._wake is not None
        heard = ""  # (the id of one that tells no more of this)
        while not self._closing:
            try:
                if self._can_tell_its_end and self.scheduler != heard:
                    self._check_connection()
                    async with asyncio.timeout(_LISTEN_SECONDS + self._seconds):
                        answer = await self._operation(
                            limit=1, lease=LEASE_SECONDS, want=[], wait=_LISTEN_SECONDS
                        )
                    if answer is not None:
                        told = _readable(answer)
                        # (meanwhile another one may have been pulled)
                        if told.closing > 0.0 and told.scheduler == self.scheduler:
                            self._closed_at = told.closing
                            self._wake.set()
                        if told.closing != 0.0:  # (less than 0: this plugin does not tell)
                            heard = told.scheduler
                        continue
            except Exception:  # noqa: BLE001 (whatever broke, the next pull finds out at once)
                self._wake.set()
            await asyncio.sleep(_LISTEN_AGAIN_SECONDS)

    @property
    def _can_tell_its_end(self) -> bool:
        watches = self.status == "watching" and self._rpc is not None
        return watches and self._rpc is not self._without_code

    async def _step(self) -> bool:
        """One pull, and more as long as rows wait and come; returns whether anything happened."""
        if self._rpc is None:
            await knock(self.address, self._seconds)
            await self._reach()
        busy, before = False, None
        while not self._closing:
            assert self._turn is not None
            async with self._turn:
                began = monotonic()
                pulled = await self._pull()
                self._write(pulled)
            self.status, self.problem = "watching", ""
            busy = busy or bool(pulled.rows) or _runs_something(pulled)
            if not pulled.has_more or pulled.is_no_further_than(before):
                return busy
            before = pulled
            # (the scheduler has half of its time for others)
            await self._rest(monotonic() - began)
        return busy

    async def _pull_all(self) -> None:
        """Pull until all is here that was there at the first answer, or nobody waits for it.

        Of a plugin that was shipped meanwhile, whose numbers are others: at its first answer.
        """
        assert self._turn is not None
        # (a pull that is cancelled breaks the connection: so it is not, and no other one follows)
        end = monotonic() + _FLUSH_SECONDS
        async with self._turn:
            first = pulled = await self._pull(fresh=True)
            self._write(pulled)
            while pulled.cursor < first.newest or pulled.state < first.state_newest:
                if self._closing or monotonic() >= end:
                    return
                before = pulled
                pulled = await self._pull()
                self._write(pulled)
                if pulled.plugin != first.plugin:
                    first = pulled
                elif pulled.is_no_further_than(before):
                    return

    async def _pull_heartbeats(self, told: Callable[[float], None]) -> None:
        log = self.log
        if log is None:
            return
        since = time() + self.clock_offset + ON_THE_WAY_SECONDS
        end = monotonic() + _HEARTBEATS_SECONDS
        fewest = log.silent_since(since)
        while not self._closing and monotonic() < end:
            began = monotonic()
            await self._pull_all()
            silent = log.silent_since(since)
            if silent < fewest or silent == 0:
                fewest = silent
                told(log.now)
            if silent == 0:
                return
            took = monotonic() - began
            await asyncio.sleep(max(_HEARTBEAT_SECONDS, _HEARTBEAT_PAUSES * took))

    async def _pull(self, fresh: bool = False) -> Pulled:
        """Ask once; ships the plugin again if it is gone."""
        for _ in range(2):
            began = time()
            answer = await self._asked(fresh)
            if answer is not None:
                pulled = _readable(answer)
                ended = time()
                self._offsets.append((ended - began, pulled.now - (began + ended) / 2))
                return pulled
            # The scheduler was restarted, or the plugin has left: nobody had pulled for a while.
            await ship(self._rpc, self._seconds)
        raise AnsweredBadly(
            f"The scheduler at {self.address} took the plugin by which Spanwise watches it, and "
            "does not know it."
        )

    async def _asked(self, fresh: bool) -> Any:
        self._check_connection()
        link = self._link
        want = [
            *_WANT,
            *(["tasks"] if self._state < 0 else []),
            *(["waiting", "progress"] if link is None or link.has_viewers else []),
        ]
        asked = self._operation(limit=_LIMIT, lease=LEASE_SECONDS, want=want, fresh=fresh)
        return await ask(asked, self._seconds)

    def _check_connection(self) -> None:
        """Raise at once what Dask would say when its time is over."""
        rpc = self._rpc
        if is_cut_off(rpc.scheduler if rpc is self._without_code else rpc):
            raise ConnectionError("the scheduler has ended the connection")

    def _operation(self, **request: Any) -> Any:
        """Call the plugin's operation for this viewer, from where it is."""
        return getattr(self._rpc, OPERATION)(
            viewer=self._id,
            plugin=self._plugin,
            cursor=self._cursor,
            state=self._state,
            **request,
        )

    def _write(self, pulled: Pulled) -> None:
        """Write an answer, into a new log if the scheduler is another one, or its clock is."""
        before, outage = self.newest, self._outage
        if before is not None and self._needs_new_log(pulled, before):
            self._begin_anew(pulled, before)
        elif before is not None and before.plugin != pulled.plugin:
            # What happened between nobody has seen.
            log = self.log
            assert log is not None
            log.unseen(before.now, pulled.attached)
        log = self.log
        assert log is not None
        if outage is not None and outage is self._outage:
            log.reached(pulled.now)
        self._outage = None
        for kind, problem in pulled.problems.items():
            # (which says what stood there: with each pull something else)
            if kind not in self._said_of_problems:
                self._said_of_problems.add(kind)
                tell(f"The answer of the scheduler at {self.address} is not whole: {problem}")
        log.write(pulled)
        log.tell_clock(*self._clock)
        log.commit()
        for section, sentence in _NOT_TOLD.items():
            more = pulled.states_more.get(section, 0)
            if more > 0 and section not in self._said_of_more:
                self._said_of_more.add(section)
                tell(sentence.format(more, self.address))
        said = pulled.states.get("bandwidth")
        if said is not None:
            labels = zip(said["kind"], said["a"], said["b"], strict=True)
            known = self._bandwidths if len(self._bandwidths) < _MOST_BANDWIDTHS else {}
            self._bandwidths = known | dict(zip(labels, said["value"], strict=True))
        self.newest = pulled
        self._closed_at = max(self._closed_at, pulled.closing)
        self._plugin, self._cursor, self._state = pulled.plugin, pulled.cursor, pulled.state

    # -- samples ----------------------------------------------------------

    async def _sampled_since(self, pulled: Pulled) -> float | None:
        """When the samples begin that workers took before this viewer came; None: not known."""
        workers = pulled.states.get("workers", {}).get("worker", ())
        since = pulled.attached - _HISTORY_SECONDS
        try:
            begun = await ask(
                self._samples.begun([each for each in workers if each], since, pulled.now),
                _HISTORY_LIMIT,
            )
        except Exception:  # noqa: BLE001 (whatever Dask raises: there are none, then)
            await self._close_samples()
            return None
        return None if begun is None else begun - CYCLE_SECONDS

    async def _sample(self) -> None:
        """Take samples when it is the time; what wakes the pulls does not wake this."""
        while not self._closing:
            log = self.log
            if self.status == "watching" and log is not None:
                times, now = self._sample_times(log), time() + self.clock_offset
                until = times.due(now, log.worked_at)
                if until is not None:
                    began = monotonic()
                    await self._take_samples(until)
                    times.looked(now, monotonic() - began)
                    if times.since < until:
                        # (they could not be read, and would be due at each look)
                        await asyncio.sleep(PAUSE_SECONDS)
            await asyncio.sleep(_TICK_SECONDS)

    def _sample_times(self, log: DaskLog) -> SampleTimes:
        if self._sampled[0] is not log:
            self._sampled = log, SampleTimes(log.epoch)
        return self._sampled[1]

    async def _take_samples_until_now(self) -> None:
        until = time() + self.clock_offset + CYCLE_SECONDS
        await asyncio.sleep(CYCLE_SECONDS + LAG_SECONDS)
        await self._take_samples(until)

    async def _take_samples(self, until: float) -> None:
        assert self._samples_turn is not None
        async with self._samples_turn:
            log = self.log
            if log is None:
                return
            times = self._sample_times(log)
            if until <= times.since:
                return
            try:
                found = await self._samples.take(
                    log.present(), times.since, until, log.stack, times.taken
                )
                self._had_no_samples = False
                # (what was written in part is not written twice)
                times.since = until
                log.write_samples(found)
                log.commit()
            except Exception as error:  # noqa: BLE001 (whatever Dask raises: samples are not vital)
                await self._no_samples(error)

    async def _no_samples(self, error: Exception) -> None:
        """Try again on a new connection; the same is said once."""
        said = str(error) or type(error).__name__
        # (of a scheduler that does not answer the pulls tell, before the next question)
        may_be_out = isinstance(error, (OSError, TimeoutError)) and not self._had_no_samples
        self._had_no_samples = True
        is_new = self.status == "watching" and said != self._said_of_samples
        if is_new and not may_be_out:
            self._said_of_samples = said
            tell(f"The samples of the workers at {self.address} could not be read: {said[:500]}")
        await self._close_samples()

    async def _close_samples(self) -> None:
        with suppress(Exception):  # (it is broken)
            await self._samples.close()

    def _needs_new_log(self, pulled: Pulled, before: Pulled) -> bool:
        retold = "" if self._without_code is None else self._without_code.retold
        is_retold = before.plugin != pulled.plugin == retold
        return is_retold or before.scheduler != pulled.scheduler

    def _begin_anew(self, pulled: Pulled, before: Pulled) -> None:
        """Another scheduler answers at the address, or its clock turned out to be another one."""
        log, outage = self.log, self._outage
        assert log is not None
        if outage is not None:
            log.unseen(before.now, outage.noticed)
            self._outage = None
        if before.scheduler == pulled.scheduler:
            told = "another history goes on, by the clock of its scheduler"
            self._end_log("closed", told, unwatched=True)
            self._begin_log(pulled)
        else:
            self._end_log("scheduler-lost", "another scheduler answers at its address")
            self._begin_log(pulled, since=before.now)

    def _begin_log(
        self, pulled: Pulled, sampled: float | None = None, since: float | None = None
    ) -> None:
        assert self._observer is not None
        # (what another scheduler has told)
        self._bandwidths = {}
        self._closed_at = 0.0
        self._has_seen_end = False
        newest = [*self._offsets][-1:]
        self._offsets.clear()
        self._offsets.extend(newest)
        host = host_of(pulled.address)
        log = self.log = DaskLog(self.name, pulled, self._push, sampled, host, since)
        log.tell_clock(*self._clock)
        self._link = ObserverLink(self._observer, log.description, self._gaps)

    def _push(self, block: Any, at: float) -> None:
        link = self._link
        if link is not None:
            link.push(block, at)

    def _gaps(self, gaps: list[LogGap]) -> None:
        log = self.log
        if log is not None:
            for gap in gaps:
                log.gap(gap.table, gap.start, gap.stop, gap.rows)
            log.seal()

    def _end_log(
        self, why: str, told: str, at: float | None = None, *, unwatched: bool = False
    ) -> None:
        with self._ending:
            log, link = self.log, self._link
            if log is not None and link is not None:
                # (what was written is sent first)
                self._last_seq = log.seal_all()
                self._link = None
                ended = log.since(log.now if at is None else at)
                link.end(why, ended, _END_SECONDS, told, unwatched)

    async def _rest(self, seconds: float) -> None:
        assert self._wake is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0.001)):
                await self._wake.wait()

    async def _leave(self) -> None:
        """Say that this viewer leaves, if it can be said."""
        if self._rpc is not None and self._plugin:
            with suppress(Exception):  # (its lease ends by itself)
                await ask(self._operation(limit=1, lease=0, want=[]), 2.0)
        await self._let_go()

    async def _let_go(self) -> None:
        rpc, self._rpc = self._rpc, None
        if rpc is not None:
            with suppress(Exception):  # (it is broken)
                await ask(rpc.close_rpc(), 2.0)


def _runs_something(pulled: Pulled) -> bool:
    return bool(pulled.states.get("executing", {}).get("key"))


def _readable(answer: Any) -> Pulled:
    try:
        return read_answer(answer)
    except UnreadableAnswer as error:
        because = f"its answer cannot be read: {error}"
        raise AnsweredBadly(f"The scheduler's {because[4:]}.", because) from None
