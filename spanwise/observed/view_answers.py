"""The answers of the observer's views, as far as the client reads them.

``src/wire/panel-link.ts`` describes the views; on the wire a result is a map of anything, for
most of what is in it is the panels' own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from spanwise.errors import ClusterError
from spanwise.observed.system import FIGURES, LOOP_INTERVAL
from spanwise.wire.errors import BrokenFrame
from spanwise.wire.kinds import Check, compile_fields

_COUNT = {"integer": [0, None]}
_UNKNOWN = {"nullable": "number"}

_SPAN = {
    "span": _COUNT,
    "id": "text",
    "enqueued": _UNKNOWN,
    "submitted": _COUNT,
    "code": {"list": "text"},
    "nbytes": "number",
    "seconds": {"texts": "number"},
    "ownReused": _COUNT,
    "joined": _COUNT,
    "client": {"nullable": _COUNT},
    "parent": {"nullable": _COUNT},
    "path": {"list": "text"},
    "origin": "text",
    "tasks": _COUNT,
    "executions": _COUNT,
    "running": _COUNT,
    "failed": _COUNT,
    "threadSeconds": "number",
    "cpuSeconds": _UNKNOWN,
    "transferSeconds": "number",
    "idleSeconds": _UNKNOWN,
    "ownTasks": _COUNT,
    "ownNanoseconds": "number",
    "exact": _COUNT,
    "inferred": _COUNT,
    "opened": "number",
    "closed": _UNKNOWN,
    "firstStart": _UNKNOWN,
    "lastStop": _UNKNOWN,
}

_LANE = {
    "worker": "text",
    "address": "text",
    "why": "text",
    "thread": _COUNT,
    "beside": {"optional": {"list": "any"}, "default": []},
    "ident": _UNKNOWN,
}

_COUNTS = {"list": _COUNT}
_SUMS = {
    "count": _COUNTS,
    "bytes": {"list": "number"},
    "largeBytes": {"list": "number"},
    "largeSeconds": {"list": "number"},
}
_LINE = {
    "worker": {"nullable": _COUNT},
    "name": "text",
    "address": "text",
    "t": {"list": "number"},
    "seconds": {"list": "number"},
    **{column: {"list": _UNKNOWN} for column in FIGURES.values()},
    LOOP_INTERVAL: {"optional": {"list": _UNKNOWN}, "default": None},
}
_PROFILE_PAGE = {
    "next": {"nullable": _COUNT},
    "first": _COUNT,
    "end": _COUNT,
    "sampleSeconds": "number",
}

#: View → kinds of the fields that are read, as in :mod:`spanwise.wire.kinds`.
_VIEWS: dict[str, dict[str, Any]] = {
    "spans": {
        "rows": {"list": {"map": _SPAN}},
        "clients": {"list": "text"},
        # (of questions that ask for pages, and those that ask for numbers)
        "next": {"optional": {"nullable": _COUNT}, "default": None},
        "threads": {"optional": {"list": {"list": "number"}}, "default": []},
        "countedIn": {"optional": {"list": {"list": _COUNT}}, "default": []},
    },
    # (rows of entries and columns of records are many, and looked over where they are read)
    "fine-metrics": {
        "entries": {"optional": {"list": "any"}, "default": []},
        "notes": {"optional": {"list": "text"}, "default": []},
    },
    "profile": {
        "samples": _COUNT,
        # (of questions that ask for pages)
        "page": {"optional": {"map": _PROFILE_PAGE}, "default": None},
    },
    "records": {
        "names": {"list": "text"},
        "spans": {"list": {"list": "text"}},
        "lanes": {"list": {"map": _LANE}},
        "marks": {"list": "any"},
        "marksEnd": _COUNT,
        "next": {"nullable": {"list": _COUNT}},
        "end": _COUNT,
    },
    "transfers": {
        "total": {"map": {"largeBytes": "number", "largeSeconds": "number"}},
        "workers": {"list": {"map": {"worker": _COUNT, "name": "text", "address": "text"}}},
        "pairs": {"map": {**_SUMS, "from": _COUNTS, "to": _COUNTS}},
        "types": {"map": {**_SUMS, "type": {"list": "text"}}},
    },
    "system": {"lines": {"list": {"map": _LINE}}},
}


@cache
def _check(view: str) -> Check:
    return compile_fields(_VIEWS.get(view, {}))


def checked_answer(view: str, result: dict[str, Any]) -> dict[str, Any]:
    """The answer of a view, looked over.

    Raises
    ------
    ClusterError
        It is not what the view answers.
    """
    try:
        return _check(view)(result, f'"snapshot".result of "{view}"')  # type: ignore[no-any-return]
    except BrokenFrame as error:
        raise unreadable(view, error) from error


def unreadable(view: str, error: BaseException) -> ClusterError:
    """The error for the caller."""
    return ClusterError(
        f'What the observer answered cannot be read ("{view}": {type(error).__name__}: {error}). '
        "This is a bug of Spanwise; results of tasks are not touched by it."
    )
