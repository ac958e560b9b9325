"""What a report asks of a cluster beside its log: of one of Spanwise, and of one of Dask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import localtime, strftime
from typing import Any, Protocol

from spanwise.client.on_workers import versions_here
from spanwise.client.watched import Watched, WatchedCluster, WatchedDask
from spanwise.dask_bridge.own_answers import own_profile, scheduler_log, worker_logs
from spanwise.dask_bridge.viewer import ON_THE_WAY_SECONDS
from spanwise.observed import report_page as sections
from spanwise.observed.profile_page import profile_section
from spanwise.observed.profiles import Profile
from spanwise.observed.questions import FineMetrics
from spanwise.observed.report_page import Cell, Section
from spanwise.observed.system import SCHEDULER

PROFILE, OWN_PROFILE = "Workers’ profile", "Workers’ own profile"
SCHEDULERS_PROFILE = "Scheduler’s profile"
_VERSIONS = ("spanwise", "dask", "python")

#: Contexts of fine metrics of Dask that are by start and stop of tasks, and so of any time.
_BY_RUNS = ("idle", "background")

Records = Sequence[Mapping[str, Any]]
Lines = Sequence[tuple[str, str]]


class Parts(Protocol):
    """Of one cluster; times are of its scheduler's clock.

    Attributes
    ----------
    notes
        By the titles of sections of fine metrics.
    """

    notes: Mapping[str, str]

    def facts(self, records: Records | None) -> list[tuple[str, Cell]]:
        """Of the summary, behind what the records say; None: they are not known."""

    def metrics(self, start: float, stop: float) -> FineMetrics:
        """Where the threads' time went."""

    def profile(self, start: float, stop: float) -> Profile:
        """Of the tasks."""

    def own_profile(self, start: float, stop: float) -> Section:
        """Of what workers do besides tasks."""

    def schedulers_profile(self, start: float, stop: float) -> Section:
        """Of the scheduler."""

    def bandwidth(self, start: float, stop: float) -> list[Section]:
        """Between workers."""

    def hosts(self) -> dict[str, str]:
        """Process → host. The scheduler is taken to be where the oldest worker is."""

    def scheduler_log(self, most: int) -> Lines:
        """The newest first."""

    def worker_logs(self, most: int) -> Mapping[str, Lines]:
        """By address."""


def parts_of(watched: Watched) -> Parts:
    """The parts of a watched cluster."""
    if isinstance(watched, WatchedDask):
        return _OfDask(watched)
    assert isinstance(watched, WatchedCluster)
    return _OfCluster(watched)


class _OfCluster:
    notes: Mapping[str, str] = {}

    def __init__(self, watched: WatchedCluster) -> None:
        self._client = watched.client
        self._asked = watched.asked

    def facts(self, records: Records | None) -> list[tuple[str, Cell]]:
        info = self._client.scheduler_info(0)
        ends = sections.statuses(records or ())
        return [
            ("Failed task runs", sections.count(ends["error"])),
            ("Cancelled task runs", sections.count(ends["cancelled"])),
            ("Lost task runs", sections.count(ends["lost"])),
            *_size(info["n_workers"], info["total_threads"], info["total_memory"]),
            *_versions(),
        ]

    def metrics(self, start: float, stop: float) -> FineMetrics:
        return self._asked.fine_metrics(start=start, stop=stop)

    def profile(self, start: float, stop: float) -> Profile:
        return self._asked.profile(start=start, stop=stop)

    def own_profile(self, start: float, stop: float) -> Section:
        return profile_section(self._client._of_machinery(start, stop, None, False), OWN_PROFILE)

    def schedulers_profile(self, start: float, stop: float) -> Section:
        # (a report does not have the scheduler begin to look at itself)
        profile, since = self._client._of_scheduler(start, stop, begins=False)
        section = profile_section(profile, SCHEDULERS_PROFILE)
        if since is not None and since > start and not section["missing"]:
            begun = strftime("%H:%M:%S", localtime(since))
            section["note"] = f"Since {begun}, {since - start:.1f} s after the block’s begin."
        return section

    def bandwidth(self, start: float, stop: float) -> list[Section]:
        return sections.bandwidth(self._asked.bandwidth(start, stop))

    def hosts(self) -> dict[str, str]:
        rows = self._client._session.running_workers()
        return _hosts((row["address"], str(row["host"])) for row in rows)

    def scheduler_log(self, most: int) -> Lines:
        found: Lines = self._client._get_scheduler_logs(most)
        return found

    def worker_logs(self, most: int) -> Mapping[str, Lines]:
        found: Mapping[str, Lines] = self._client._get_worker_logs(most, None)
        return found


class _OfDask:
    """Dask tells no runs that were lost, and of its event loops whole seconds."""

    notes: Mapping[str, str] = {
        "Idle time by cause": "Dask does not say what a task waited for before it ran: of most "
        "idle time the cause is unknown."
    }

    def __init__(self, watched: WatchedDask) -> None:
        self._handle = watched.handle
        self._viewer = watched.handle._viewer
        self._asked = watched.asked

    def facts(self, records: Records | None) -> list[tuple[str, Cell]]:
        workers = self._handle.workers_there()
        threads, limit = sum(each[2] for each in workers), sum(each[3] for each in workers)
        newest = self._viewer.newest
        there = [] if newest is None else [("distributed version", newest.distributed)]
        return [
            ("Failed task runs", sections.count(sections.statuses(records or ())["error"])),
            ("Lost task runs", sections.count(None)),
            *_size(len(workers), threads, limit),
            *_versions(),
            *((name, sections.word(version)) for name, version in there),
        ]

    def metrics(self, start: float, stop: float) -> FineMetrics:
        """Sums count when workers tell them, with a heartbeat that may come after the block."""
        exact = self._asked.fine_metrics(start=start, stop=stop)
        viewer = self._viewer
        if viewer.log is None or not viewer.log.has_task_sums or viewer.status != "watching":
            return exact
        # (what comes while nobody but silent workers is waited for is of after the block)
        until = max(stop, viewer.flush_sums() or stop)
        told = self._asked.fine_metrics(start=start, stop=until)
        entries = {
            **{key: value for key, value in told.items() if key[0] not in _BY_RUNS},
            **{key: value for key, value in exact.items() if key[0] in _BY_RUNS},
        }
        note = (
            "What Dask’s workers have told, in whole seconds: from that of the block’s begin until "
            f"that {until - stop:.1f} s after its end."
        )
        if viewer.log.silent_since(stop + ON_THE_WAY_SECONDS):
            note += " Not all have told yet what they added up in the block."
        return FineMetrics(entries, {**told.summary, "notes": [*told.notes, note]})

    def profile(self, start: float, stop: float) -> Profile:
        self._viewer.flush_samples()
        return self._asked.profile(start=start, stop=stop)

    # (both are asked after `profile`, which waits until the last second of the block is over)

    def own_profile(self, start: float, stop: float) -> Section:
        profile = own_profile(self._viewer, start, stop)
        return self._of_loops(profile, OWN_PROFILE)

    def schedulers_profile(self, start: float, stop: float) -> Section:
        profile = own_profile(self._viewer, start, stop, of_scheduler=True)
        return self._of_loops(profile, SCHEDULERS_PROFILE)

    def _of_loops(self, profile: Profile, title: str) -> Section:
        section = profile_section(profile, title)
        if not section["missing"]:
            section["note"] = (
                "Dask’s event loops while they did something; whole seconds that the block touches."
            )
        return section

    def bandwidth(self, start: float, stop: float) -> list[Section]:
        return sections.estimated_bandwidth(self._handle.bandwidth())

    def hosts(self) -> dict[str, str]:
        return _hosts((address, host) for address, host, *_ in self._handle.workers_there())

    def scheduler_log(self, most: int) -> Lines:
        return scheduler_log(self._viewer, most)

    def worker_logs(self, most: int) -> Mapping[str, Lines]:
        return worker_logs(self._viewer, most)


def _size(workers: int, threads: int, limit: float) -> list[tuple[str, Cell]]:
    return [
        ("Workers", sections.count(workers)),
        ("Threads", sections.count(threads)),
        ("Memory limit", sections.nbytes(limit)),
    ]


def _versions() -> list[tuple[str, Cell]]:
    packages = versions_here()["packages"]
    return [
        (f"{name} version", sections.word(packages[name])) for name in _VERSIONS if name in packages
    ]


def _hosts(told: Iterable[tuple[str, str]]) -> dict[str, str]:
    hosts = dict(told)
    return {SCHEDULER: next(iter(hosts.values())), **hosts} if hosts else {}
