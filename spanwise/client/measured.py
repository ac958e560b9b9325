"""What a client tells of what was measured.

A kind of question that needs more than a few lines has a file of its own, and its methods are
mixed in here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

from spanwise.client.arguments import workers_of
from spanwise.client.memory_sampler import ClusterMemoryRun
from spanwise.client.observed import Observed
from spanwise.client.profiles import ProfileMethods
from spanwise.client.task_stream import TaskStreamMethods
from spanwise.observed.questions import FineMetrics
from spanwise.observed.span_info import SpanInfo
from spanwise.observed.span_list import SpanList


class MeasuredMethods(ProfileMethods, TaskStreamMethods):
    """What a client tells of what was measured."""

    if TYPE_CHECKING:
        asynchronous: bool
        _session: Any
        _observed: Observed

        def _call(self, function: Callable[..., Any], *args: Any) -> Any: ...

        def _worker_ids(self, named: Any) -> list[int]: ...

    def spans(self) -> Any:
        """All spans with their figures, parents before children.

        Returns
        -------
        list of SpanInfo
        """
        return self._call(self._spans)

    def _spans(self) -> list[SpanInfo]:
        types_of = self._session.spans.types_of
        return SpanList(
            replace(info, metadata={"collections": [{"type": name} for name in types_of(info.id)]})
            for info in self._observed.spans()
        )

    def fine_metrics(
        self,
        span: Any = None,
        function: Any = None,
        worker: Any = None,
        start: float | None = None,
        stop: float | None = None,
        unit: str | None = None,
    ) -> Any:
        """Where the time went.

        Parameters
        ----------
        span
            A tag (at any depth), a tuple of tags (the path from the root), an id as
            ``with span(…) as id`` gives it, or a SpanInfo; the whole subtree counts. Or a
            mapping of ``any``, ``all`` and ``not`` to one or a list of these:
            ``{"any": ["load", "clean"], "not": "read"}``.
        function
            A name, or several.
        worker
            A number, name, host or address, or several; of a worker that has gone its number.
        start, stop
            Wall clock, seconds since the epoch.
        unit
            ``"seconds"``, ``"bytes"``, ``"count"``, or one of a meter; default: all.

        Returns
        -------
        FineMetrics
            Mapping ``{(context, function, activity, unit): value}``.
        """
        return self._call(self._fine_metrics, span, function, worker, start, stop, unit)

    def _fine_metrics(self, span: Any, function: Any, worker: Any, *rest: Any) -> FineMetrics:
        numbers = None if worker is None else self._numbers_of(workers_of(worker))
        return self._observed.fine_metrics(span, function, numbers, *rest)

    def _numbers_of(self, named: list[Any]) -> list[int]:
        found: list[int] = []
        for one in named:
            # (a number may be that of a worker that has gone)
            found += [int(one)] if isinstance(one, Integral) else self._worker_ids([one])
        return found

    def _begin_memory_run(self, label: str, measure: str, interval: float) -> ClusterMemoryRun:
        return ClusterMemoryRun(self._session, label, measure, interval)
