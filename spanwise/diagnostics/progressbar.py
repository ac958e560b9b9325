"""``progress``: shows how far tasks are."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any

from spanwise.client.arguments import seconds_of
from spanwise.client.either_engine import dasks_own, holds_dasks_futures
from spanwise.client.future import Future
from spanwise.client.futures_of import futures_of, is_collection
from spanwise.diagnostics.followed_tasks import FollowedTasks
from spanwise.diagnostics.notebook import NotebookBar
from spanwise.diagnostics.terminal import TextBar

_NOTEBOOK_SECONDS = 0.25
_TERMINAL_SECONDS = 0.1
_LEAST_SECONDS = 0.05


def progress(
    *futures: Any,
    notebook: bool | None = None,
    multi: bool = True,
    complete: bool = True,
    group_by: str | Callable[[Any], Any] = "prefix",
    interval: float | str | None = None,
    width: int = 40,
    **kwargs: Any,
) -> Any:
    """Show how far tasks are, with all that they need.

    In a notebook it shows bars at once and returns; elsewhere it draws a line of text and returns
    when all tasks have ended. Where standard output is no terminal, it writes one line at the end.
    Futures of `distributed` are shown by its own `progress`.

    Parameters
    ----------
    *futures
        Futures, persisted collections, or containers of those, of one client.
    notebook
        Bars, or text; default: bars in a kernel.
    multi
        In a notebook: a bar per group, not one for all.
    complete
        Also tasks that have run already.
    group_by
        ``"prefix"`` of the key, ``"spans"``, or a function of the key.
    interval
        Between two looks: seconds, or a text such as ``"100ms"``. Looks are rarer when they take
        the scheduler long. Default: 0.25 s in a notebook, 0.1 s elsewhere.
    width
        Of the bar in a terminal, in characters.

    Returns
    -------
    NotebookBar or None
        In a notebook: `close()` ends it, which the tasks do not notice. With an asynchronous
        client, elsewhere: a coroutine.

    Raises
    ------
    ValueError
        A collection is not persisted, futures are of several clients, or `group_by` is another.
    ClusterError
        The client is closed.

    Examples
    --------
    >>> x = x.persist()                                         # doctest: +SKIP
    >>> progress(x)                                             # doctest: +SKIP
    [########################################] | 100% Completed | 1.70 s
    """
    if group_by not in ("spans", "prefix") and not callable(group_by):
        raise ValueError(f"group_by is 'prefix', 'spans' or a function of a key, not {group_by!r}")
    if notebook is None:
        notebook = is_kernel()
    if holds_dasks_futures(list(futures)):
        # (how far what they need is, its scheduler tells Dask's own bar alone)
        given = kwargs if interval is None else {**kwargs, "interval": interval}
        given = given if notebook else {**given, "width": width}
        return dasks_own("progress")(
            *futures,
            notebook=notebook,
            multi=multi,
            complete=complete,
            group_by=group_by,
            **given,
        )
    found = _futures_in(futures)
    grouped = group_by if multi and notebook else None
    tasks = FollowedTasks(found, complete, grouped)
    pause = _TERMINAL_SECONDS if interval is None else seconds_of(interval, "interval", 0)
    if notebook:
        bar = NotebookBar(tasks, _NOTEBOOK_SECONDS if interval is None else _seconds(pause))
        bar.start()
        return bar
    text = TextBar(tasks, _seconds(pause), width)
    if found and found[0].client.asynchronous:
        return _in_thread(text)
    text.run()
    return None


def is_kernel() -> bool:
    """Whether this runs in a kernel of Jupyter."""
    # (the module has no such function while another thread imports it: then this is no kernel yet)
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_ipython is None else get_ipython()
    return getattr(shell, "kernel", None) is not None


def _seconds(interval: float | None) -> float:
    return max(_LEAST_SECONDS, interval or 0.0)


async def _in_thread(bar: TextBar) -> None:
    try:
        await asyncio.to_thread(bar.run)
    finally:
        bar.close()


def _futures_in(given: Sequence[Any]) -> list[Future]:
    for each in given:
        _check(each)
    found = futures_of(list(given))
    if any(each.client is not found[0].client for each in found):
        raise ValueError("These futures are of several clients: show each client's by themselves.")
    return found


def _check(given: Any) -> None:
    """Raise an error if something is given of which nothing runs."""
    if isinstance(given, Future):
        return
    if is_collection(given):
        if not futures_of(given):
            raise ValueError(
                f"Nothing of this {type(given).__name__} is being computed: it is not persisted. "
                "Write x = x.persist(), then progress(x)."
            )
        return
    if isinstance(given, dict):
        given = given.values()
    elif not isinstance(given, (list, tuple, set, frozenset)):
        raise TypeError(
            "progress() takes futures, persisted collections, and containers of them, "
            f"not {type(given).__name__}"
        )
    for each in given:
        _check(each)
