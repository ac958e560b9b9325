"""Says to a Dask scheduler in which span a graph was written, if that was one alone.

Dask forgets the spans of layers that it fuses. So a graph of one span goes as if it were computed
within it: Dask's own spans and sums are right then. And the name of its stimulus, a text that Dask
keeps in its logs, says so to the plugin of the viewers, which cannot know it otherwise::

    update-graph-1795698000.1-spanwise-<the span's id, or nothing>
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from time import time
from typing import Any

import dask

from spanwise.graph.one_span import written_in_one_span
from spanwise.graph.spans import current_span
from spanwise.notices import tell

#: Before the id of the span; as spanwise/dask_bridge/plugin_source.py has it.
MARK = "-spanwise-"
#: What Dask says of a graph of `submit` and `map`: it is written by this call.
_OF_FUTURES = {"collections": [{"type": "Future"}]}
#: Of the graph that is being sent: the id of its span, "" if it is in none; None: nothing is known.
_WRITTEN_IN: ContextVar[str | None] = ContextVar("spanwise_written_in", default=None)


@contextmanager
def writing(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[None]:
    """What is sent in the block is the graph that these arguments of Dask's client describe."""
    span = current_span()
    try:
        if kwargs.get("span_metadata") == _OF_FUTURES:
            found: tuple[Any] | None = (span,)
        else:
            found = written_in_one_span(args[0] if args else kwargs.get("expr"))
        said = None if found is None else "" if found[0] is None else str(found[0]["ids"][-1])
    except Exception as error:  # noqa: BLE001 (said; Dask goes on)
        found = said = None
        _tell_once(
            "Spanwise cannot follow how this version of Dask sends graphs: some tasks may be "
            f"counted to another span ({type(error).__name__}: {error})."
        )
    token = _WRITTEN_IN.set(said)
    try:
        if found is None or found[0] is None or found[0] is span:
            yield
        else:
            with dask.annotate(span=found[0]):
                yield
    finally:
        _WRITTEN_IN.reset(token)


def marked(message: Any) -> Any:
    """A message to a scheduler; of a graph it says in which span that was written."""
    said = _WRITTEN_IN.get()
    if said is None or message.get("op") != "update-graph":
        return message
    return {**message, "stimulus_id": f"update-graph-{time()}{MARK}{said}"}


@cache
def _tell_once(sentence: str) -> None:
    tell(sentence)
