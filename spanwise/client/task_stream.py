"""Records of the runs of tasks: all of them, or those of a block."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.client.block import Block
from spanwise.client.observed import Observed
from spanwise.client.watched import Watched, current_measured, watched_cluster
from spanwise.observed.page_file import Page, checked_path, checked_plot
from spanwise.observed.record_list import RecordList
from spanwise.observed.task_groups import task_groups, task_prefixes
from spanwise.observed.task_stream_page import TASK_STREAM_FILE, with_picture

if TYPE_CHECKING:
    from spanwise.client.session import Session


class TaskStreamMethods:
    """What a client tells of runs that have ended."""

    if TYPE_CHECKING:
        asynchronous: bool
        _session: Session
        _observed: Observed

        def _call(self, function: Callable[..., Any], *args: Any) -> Any: ...

    def get_task_stream(
        self,
        start: float | str | None = None,
        stop: float | str | None = None,
        count: int | None = None,
        plot: bool | str = False,
        filename: str | Path = TASK_STREAM_FILE,
        bokeh_resources: Any = None,
    ) -> Any:
        """Records of runs that have ended, in the order of their start.

        Parameters
        ----------
        start, stop
            Wall clock, seconds since the epoch, or a text such as ``"500 ms"``: that long ago.
            Only runs whose last part ended at `start` or later, and before `stop`, are
            given.
        count
            At most this many: the first ones from `start` on, or without `start` the last
            ones (before `stop`). With both it has no effect.
        plot
            True: also a page that draws the records; ``"save"``: written to `filename` too.
        filename
            Of ``plot="save"``, and without meaning else: one HTML file that needs neither server
            nor network.
        bokeh_resources
            Without meaning: the page is not Bokeh's.

        Returns
        -------
        list of dict, or (list, Page) with `plot`
            One for each run; a task that was tried again has several. The list shows its first
            and last records.

            ``key``
                As the user made it.
            ``worker``, ``thread``
                The worker's address and the operating system's number of the thread;
                ``worker_name`` and ``lane`` are what the panels call both; ``beside`` is None,
                or of a lane that is of no thread what it is called there: ``("seceded", 1)``.
            ``status``
                ``"OK"``, ``"error"``; ``"cancelled"``: nobody wanted its result any more; or
                ``"lost"``: the run ended with its worker, or the task failed without a run;
                ``reason`` says why. Without a `count`, what is not known to have begun, or
                never began, has a record that takes no time.
            ``startstops``
                All parts of the run, each with its ``action``, ``start``, ``stop``, ``function``
                and ``span``; a transfer has its ``source``, the address of the sending worker.
            ``name``, ``attempt``, ``span``
                The function's name, 1 for the task's first run, and the tags of its span.
            ``nbytes``, ``type``, ``typename``, ``metadata``
                Of the result: its size; its class as a pickle (None where that cannot be
                imported) and by name; an empty dict.
            ``cause``, ``exception_text``, ``traceback_text``
                Of runs that failed: the key, what was raised, and the traceback with it. Of
                cancelled ones that raised the last two.
        """
        if checked_plot(plot) == "save":
            checked_path(filename)
        return self._call(self._task_stream, (start, stop, count), plot, filename)

    def _task_stream(
        self, selection: tuple[Any, ...], plot: bool | str, filename: str | Path
    ) -> Any:
        asked, name = self._observed, self._session.name
        return with_picture(asked.task_stream(*selection), asked, name, plot, filename)

    def task_groups(self) -> Any:
        """What all runs that have ended took, by the group of their keys.

        Returns
        -------
        dict
            Name to ``states`` (how many tasks' last run kept a result, ``memory``, or failed,
            ``erred``), ``all_durations`` (action to seconds) and ``duration`` (their sum),
            ``nbytes_total``, ``types``, ``start`` and ``stop`` (of computing), ``prefix`` and
            ``spans``. Runs that failed add to ``states`` and ``spans`` alone.
        """
        return self._call(lambda: task_groups(self._observed.task_stream()))

    def task_prefixes(self) -> Any:
        """What all runs that have ended took, by the prefix of their keys.

        Returns
        -------
        dict
            As of :meth:`task_groups`; in place of ``prefix`` there are ``groups``, and
            ``duration_average``, of computing, to which the newest run counts by a half.
        """
        return self._call(lambda: task_prefixes(self._observed.task_stream()))


class _Collection(Block):
    """A block whose runs are collected when it ends; it may be entered again."""

    def __init__(self, client: Any = None) -> None:
        #: None: the one that is current when the block begins.
        self._client = client
        self._watched: Watched | None = None
        self._places = (0, 0)

    def _begin(self) -> None:
        watched = watched_cluster(self._client)
        try:
            self._places = watched.asked.end_of_runs()
        except BaseException:
            watched.let_go()
            raise
        self._watched = watched

    def _end(self, noted: None, error: BaseException | None) -> None:
        """Collect; an error of that becomes a note of the block's own error."""
        watched = self._watched
        assert watched is not None
        try:
            watched.check_same()
            records = watched.asked.task_stream_from(self._places)
            # (only a question that has no answer shows that a scheduler hangs)
            watched.tell_missing()
            self._take(watched, records)
        except Exception as own:
            if error is None:
                raise
            error.add_note(f"(Besides, the records of the block's tasks are lost: {own})")
        finally:
            watched.let_go()

    def _take(self, watched: Watched, records: list[dict[str, Any]]) -> None:
        raise NotImplementedError


class get_task_stream(_Collection):
    """Collect the records of the runs that end during a block.

    Parameters
    ----------
    client
        Of Spanwise or of `distributed`, or what :func:`spanwise.attach` returned. Default: the
        current client.
    plot, filename
        As of :meth:`spanwise.Client.get_task_stream`.

    Attributes
    ----------
    data
        The records, as :meth:`spanwise.Client.get_task_stream` gives them, when the block has
        ended. A block that is entered again adds its own.
    figure
        With `plot`: the page that draws them, once the block has ended.

    Examples
    --------
    >>> with get_task_stream() as stream:                   # doctest: +SKIP
    ...     collection.compute()
    >>> stream.data                                         # doctest: +SKIP
    """

    def __init__(
        self,
        client: Any = None,
        plot: bool | str = False,
        filename: str | Path = TASK_STREAM_FILE,
    ) -> None:
        if checked_plot(plot) == "save":
            checked_path(filename)  # (at the end it would be too late)
        super().__init__(current_measured(client))
        self.data: list[dict[str, Any]] = RecordList()
        self.figure: Page | None = None
        self._plot = plot
        self._filename = filename

    def __repr__(self) -> str:
        count = len(self.data)
        return f"<get_task_stream: {count:,} record{'' if count == 1 else 's'} in .data>"

    def _take(self, watched: Watched, records: list[dict[str, Any]]) -> None:
        self.data += records
        if self._plot:
            _, self.figure = with_picture(
                self.data, watched.asked, watched.name, self._plot, self._filename
            )


class get_task_metadata(_Collection):
    """Collect how the tasks ended whose runs end during a block.

    Attributes
    ----------
    metadata
        Key to a dict, which is empty: the scheduler keeps none of tasks.
    state
        Key to ``"memory"`` or ``"erred"``, by the task's newest run.

    Examples
    --------
    >>> with get_task_metadata() as tasks:                  # doctest: +SKIP
    ...     collection.compute()
    >>> tasks.state                                         # doctest: +SKIP
    """

    def __init__(self) -> None:
        super().__init__()
        self.metadata: dict[Any, dict[str, Any]] | None = None
        self.state: dict[Any, str] | None = None

    def _take(self, watched: Watched, records: list[dict[str, Any]]) -> None:
        ended = [each for each in records if each["status"] in ("OK", "error")]
        self.state = {
            each["key"]: "memory" if each["status"] == "OK" else "erred" for each in ended
        }
        self.metadata = {key: {} for key in self.state}


__all__ = ["get_task_metadata", "get_task_stream"]
