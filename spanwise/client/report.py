"""`performance_report`: one HTML file of what a cluster did during a block."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from pathlib import Path
from time import localtime, strftime
from types import FrameType
from typing import Any

from spanwise.client.arguments import shown
from spanwise.client.block import Block
from spanwise.client.report_parts import (
    OWN_PROFILE,
    PROFILE,
    SCHEDULERS_PROFILE,
    parts_of,
)
from spanwise.client.watched import Watched, watched_cluster
from spanwise.errors import ClusterError
from spanwise.observed import report_page as sections
from spanwise.observed.page_file import Page, checked_path
from spanwise.observed.profile_page import profile_section
from spanwise.observed.report_page import Section
from spanwise.observed.view_answers import unreadable

_NO_CODE = "<Code not available>"


class performance_report(Block):
    """Write what the cluster does during a block to one HTML file; also an ``async with``.

    The file needs neither server nor network. It is written when the block ends, also when that
    raises.

    Parameters
    ----------
    filename
        A path; a URL, or a name that ends in that of a compression (``.gz``), goes through fsspec.
    stacklevel
        Whose code is shown: 1 is the function, or the cell, that has the block, 2 its caller.
    mode
        Without meaning: the file always holds all that it needs.
    storage_options
        For fsspec.

    Attributes
    ----------
    start, stop
        The block's begin and end, in seconds of the wall clock as the scheduler has it: the
        figures are those that ``client.get_task_stream(start, stop)`` and its like give. Of a
        Dask cluster, whose clock is known less exactly, they lie around the ends of its tasks;
        its sums of fine metrics are those that workers have told until a little later.
    page
        What was written, once the block has ended.

    Examples
    --------
    >>> with performance_report("report.html"):             # doctest: +SKIP
    ...     collection.compute()
    """

    def __init__(
        self,
        filename: str | Path = "dask-report.html",
        stacklevel: int = 1,
        mode: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.filename = filename
        if not (storage_options is None or isinstance(storage_options, Mapping)):
            raise TypeError(
                "storage_options are what fsspec takes, by name, such as {'anon': True}, not "
                f"{shown(storage_options)}"
            )
        self.storage_options = storage_options
        self.start: float | None = None
        self.stop: float | None = None
        self.page: Page | None = None
        level: Any = stacklevel
        if not isinstance(level, Integral):
            raise TypeError(
                "stacklevel is a whole number: 1 for the function that has the block, 2 for its "
                f"caller, not {shown(level)}"
            )
        self._level = max(1, int(level))
        self._watched: Watched | None = None

    def _begin(self) -> None:
        # Now: at the end it would be too late, after all that was computed.
        is_path = isinstance(self.filename, (str, os.PathLike))
        if not is_path or not _is_elsewhere(os.fspath(self.filename), self.storage_options):
            checked_path(self.filename)
        else:
            _check_elsewhere(os.fspath(self.filename))
        watched = watched_cluster()
        try:
            self.start = watched.begin()
        except BaseException:
            watched.let_go()
            raise
        self._watched = watched

    def _noted(self, frame: FrameType) -> str:
        return _code_of(frame, self._level)

    def _end(self, noted: str, error: BaseException | None) -> None:
        """Write the file; an error of that becomes a note of the block's own error."""
        watched = self._watched
        assert watched is not None and self.start is not None
        try:
            self.start, self.stop = watched.end(self.start)
            self.page = _page(watched, self.start, self.stop, noted)
            _write(self.page, os.fspath(self.filename), self.storage_options)
        except Exception as own:
            if error is None:
                if self.page is not None:
                    own.add_note("(The page is there: page.save(filename) of the report.)")
                raise
            error.add_note(f"(Besides, {self.filename} is not written: {own})")
        finally:
            watched.let_go()


def _code_of(frame: FrameType | None, level: int) -> str:
    """The source of the block's function, or of one of its callers."""
    for _ in range(level - 1):
        frame = None if frame is None else frame.f_back
    try:
        return _NO_CODE if frame is None else inspect.getsource(frame)
    except (OSError, TypeError, SyntaxError):
        return _NO_CODE


def _is_elsewhere(filename: str, options: Mapping[str, Any] | None) -> bool:
    """Whether fsspec writes it."""
    from fsspec.utils import infer_compression

    return "://" in filename or bool(options) or infer_compression(filename) is not None


def _check_elsewhere(filename: str) -> None:
    """Raise what fsspec raises of a protocol that it does not know, or cannot import."""
    from fsspec import get_filesystem_class
    from fsspec.utils import get_protocol

    get_filesystem_class(get_protocol(filename))


def _write(page: Page, filename: str, options: Mapping[str, Any] | None) -> None:
    if not _is_elsewhere(filename, options):
        page.save(filename)
        return
    import fsspec

    with fsspec.open(filename, "wb", compression="infer", **(options or {})) as file:
        file.write(page.to_html().encode("utf-8"))


def _page(watched: Watched, start: float, stop: float, code: str) -> Page:
    asked = watched.asked
    parts = parts_of(watched)
    failed: dict[str, Exception] = {}

    def ask(name: str, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (ClusterError, OSError) as error:
            failed[name] = error
            return None

    def drawn(
        name: str,
        titles: Iterable[str],
        question: Callable[[], Any],
        draw: Callable[[Any], list[Section]],
    ) -> list[Section]:
        answer = ask(name, question)
        return sections.unanswered(titles, failed[name]) if name in failed else draw(answer)

    records = ask("records", lambda: asked.task_stream(start, stop))
    metrics = ask("metrics", lambda: parts.metrics(start, stop))
    if records is None:
        stream = sections.unanswered(["Task Stream"], failed["records"])
    else:
        slots = {} if metrics is None else sections.slots_of(metrics)
        stream = [sections.task_stream(records, start, stop - start, slots)]
    if metrics is None:
        fine = sections.unanswered(sections.FINE_TITLES, failed["metrics"])
    else:
        fine = sections.fine_metrics(metrics)
        for section in fine:
            section["note"] = f"{section['note']} {parts.notes.get(section['title'], '')}".strip()
    clock = asked.log.wall_epoch
    found = [
        *sections.summary(stop - start, records, parts.facts(records)),
        sections.text("Calling Code", code, "there is none"),
        *stream,
        *fine,
        *drawn("spans", ["Spans"], asked.spans, lambda all: [sections.spans(all, start, stop)]),
        *drawn(
            "profile",
            [PROFILE],
            lambda: parts.profile(start, stop),
            lambda profile: [profile_section(profile, PROFILE)],
        ),
        *drawn(
            "own profile",
            [OWN_PROFILE],
            lambda: parts.own_profile(start, stop),
            lambda section: [section],
        ),
        *drawn(
            "scheduler's profile",
            [SCHEDULERS_PROFILE],
            lambda: parts.schedulers_profile(start, stop),
            lambda section: [section],
        ),
        *drawn(
            "bandwidth",
            sections.BANDWIDTH_TITLES,
            lambda: parts.bandwidth(start, stop),
            lambda made: made,
        ),
        *drawn(
            "system",
            sections.SYSTEM_TITLES,
            lambda: asked.system(start, stop),
            lambda system: sections.system(system, start, stop - start, parts.hosts()),
        ),
        *drawn(
            "memory",
            sections.MEMORY_TITLES,
            lambda: _memory(asked, start - clock, stop - clock),
            lambda made: made,
        ),
        *drawn(
            "scheduler's log",
            sections.LOG_TITLES[:1],
            lambda: parts.scheduler_log(sections.MOST_LINES),
            lambda lines: [sections.scheduler_log(lines)],
        ),
        *drawn(
            "workers' logs",
            sections.LOG_TITLES[1:],
            lambda: parts.worker_logs(sections.MOST_LINES),
            lambda logs: [sections.worker_logs(logs)],
        ),
    ]
    facts = [["Of", watched.name], ["Written", strftime("%Y-%m-%d %H:%M:%S", localtime())]]
    watched.tell_missing()
    if watched.missing:
        facts.append(["Missing", watched.missing])
    return Page({"title": "Dask Performance Report", "facts": facts, "sections": found})


def _memory(asked: Any, begin: float, end: float) -> list[Section]:
    params = {"measure": "process", "show": "workers"}
    answer = asked.query("memory", {}, {"from": begin, "to": end}, params)
    try:
        return sections.memory(answer, begin, end)
    except (LookupError, TypeError) as error:
        raise unreadable("memory", error) from error


__all__ = ["performance_report"]
