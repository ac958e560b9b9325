"""What the handle of a log that a program writes is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spanwise.observed.page_file import checked_path, checked_plot
from spanwise.observed.questions import FineMetrics, Questions
from spanwise.observed.span_info import SpanInfo
from spanwise.observed.task_stream_page import TASK_STREAM_FILE, with_picture


class AskedHandle:
    """Answers as :class:`spanwise.Client` does.

    Attributes
    ----------
    name
        Shown by the panels.
    """

    name: str

    def _asked(self) -> Questions:
        """Of the log that is written now."""
        raise NotImplementedError

    def fine_metrics(
        self,
        *,
        span: Any = None,
        function: Any = None,
        worker: Any = None,
        start: float | None = None,
        stop: float | None = None,
        unit: str | None = None,
    ) -> FineMetrics:
        """Seconds, bytes and counts by activity; as :meth:`spanwise.Client.fine_metrics`.

        Of a Dask cluster: as Dask adds them up. Its workers tell them with their heartbeats: this
        waits for the next one of each, half a second on small clusters. By ``worker`` they are not
        known, and by time only as they were told.

        Raises
        ------
        ClusterError
            There is no observer, or it could not answer.
        """
        self._take_sums()
        return self._asked().fine_metrics(span, function, worker, start, stop, unit)

    def _take_sums(self) -> None:
        """Have the newest sums written, where they do not come by themselves."""

    def spans(self) -> list[SpanInfo]:
        """All spans, parents before children; as :meth:`spanwise.Client.spans`.

        Of a Dask cluster: as Dask has assigned them, with Dask's ids.
        """
        return self._asked().spans()

    def get_task_stream(
        self,
        start: float | str | None = None,
        stop: float | str | None = None,
        count: int | None = None,
        plot: bool | str = False,
        filename: str | Path = TASK_STREAM_FILE,
    ) -> Any:
        """Records of tasks that have ended; as :meth:`spanwise.Client.get_task_stream`."""
        if checked_plot(plot) == "save":
            checked_path(filename)
        asked = self._asked()
        return with_picture(asked.task_stream(start, stop, count), asked, self.name, plot, filename)
