"""Records of runs, as ``get_task_stream`` gives them, from the observer's columns."""

from __future__ import annotations

import builtins
import itertools
import pickle
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from dask.utils import key_split

from spanwise.observed.record_list import RecordList

_RUN = [
    "run",
    "key",
    "function",
    "span",
    "lane",
    "status",
    "type",
    "attempt",
    "start",
    "duration",
    "nbytes",
    "parts",
]
_PART = [
    "partKind",
    "partFunction",
    "partSpan",
    "partOffset",
    "partDuration",
    "partFrom",
]
#: Statuses by `distributed`'s names.
STATUS = {"ok": "OK", "failed": "error"}
#: A status, and what became of its time.
_LOST = "lost"
#: What is before the frames of a traceback.
_HEAD = "Traceback (most recent call last):"


class TaskRecords:
    """Takes the pages of view ``records`` (``src/wire/panel-link.ts``), one after another.

    Parameters
    ----------
    wall_epoch
        Wall clock at second 0 of the log.
    key_of
        The key that a text of the log stands for.
    """

    def __init__(self, wall_epoch: float, key_of: Callable[[str], Any] = str) -> None:
        self._epoch = wall_epoch
        self._key_of = key_of
        self._records: list[dict[str, Any]] = []
        #: Beside each record: its computing, for runs that have no part that says so; of one that
        #: was lost all its time, of which nobody knows what it was.
        self._wholes: list[dict[str, Any]] = []
        #: Of what ended without a run.
        self._marks: list[dict[str, Any]] = []
        self._last_run = -1

    def __len__(self) -> int:
        return len(self._records)

    def add(self, page: Mapping[str, Any]) -> None:
        """Append a page's runs; its first may be the rest of the last run before."""
        names = page["names"]
        spans = [tuple(path) for path in page["spans"]]
        errors = dict(page["errors"])
        lanes = [
            {
                "worker": lane["address"] or lane["worker"],
                "thread": None if lane["ident"] is None else int(lane["ident"]),
                "worker_name": lane["worker"],
                "lane": lane["thread"],
                # (absent of a thread's, and where an observer of before answers)
                "beside": tuple(lane["beside"]) if lane.get("beside") else None,
            }
            for lane in page["lanes"]
        ]
        # An observer of before does not tell which parts held their thread.
        held = page.get("partHeld") or [1] * len(page["partKind"])
        parts = zip(*(page[column] for column in _PART), held, strict=True)
        rows = zip(*(page[column] for column in _RUN), strict=True)
        for row_number, row in enumerate(rows):
            run, key, function, span, lane, status, kind, attempt, since, *rest = row
            duration, nbytes, own_parts = rest
            start = self._epoch + since
            startstops = []
            for figures in itertools.islice(parts, own_parts):
                action, of, within, offset, seconds, source, is_held = figures
                part = {
                    "action": names[action],
                    "start": start + offset,
                    "stop": start + offset + seconds,
                    "function": names[of],
                    "span": spans[within],
                    "held": is_held == 1,
                }
                if part["action"] == "transfer":
                    part["source"] = None if source is None else names[source]
                startstops.append(part)
            if run == self._last_run:
                self._records[-1]["startstops"] += startstops
                continue
            self._last_run = run
            said = names[status]
            record = {
                "key": self._key_of(key),
                "name": names[function],
                **lanes[lane],
                "status": STATUS.get(said, said),
                "attempt": attempt,
                "span": spans[span],
                "nbytes": nbytes,
                "startstops": startstops,
            }
            if said == "ok":
                record |= type_fields(None if kind is None else names[kind])
                record["metadata"] = {}
            elif said == "failed":
                record |= _error_fields(errors.get(row_number, ""))
                record["cause"] = record["key"]
            elif row_number in errors:
                # A cancelled one, which has made no task fail.
                record |= _error_fields(errors[row_number])
            elif said == _LOST:
                record["reason"] = page["lanes"][lane]["why"]
            self._records.append(record)
            self._wholes.append(
                {
                    "action": _LOST if said == _LOST else "compute",
                    "start": start,
                    "stop": start + duration,
                    "function": names[function],
                    "span": spans[span],
                    "held": True,
                }
            )

        for since, key, worker, span, why in page["marks"]:
            self._marks.append(
                self._mark(
                    self._epoch + since,
                    self._key_of(key),
                    None if worker is None else names[worker],
                    spans[span],
                    str(why),
                )
            )

    def _mark(
        self, t: float, key: Any, worker: str | None, span: tuple[str, ...], why: str
    ) -> dict[str, Any]:
        """What ended without a run: it takes no time, so that it counts in no sum."""
        function = str(key_split(key))
        at = {
            "action": _LOST,
            "start": t,
            "stop": t,
            "function": function,
            "span": span,
            "held": True,
        }
        return {
            "key": key,
            "name": function,
            "worker": worker,
            "thread": None,
            "worker_name": None,
            "lane": None,
            "beside": None,
            "status": "lost",
            "attempt": None,
            "span": span,
            "nbytes": None,
            "startstops": [at],
            "reason": why,
        }

    def in_order_of_start(self) -> RecordList:
        """All of them; call it once, after the last page."""
        for record, whole in zip(self._records, self._wholes, strict=True):
            startstops = record["startstops"]
            if not any(each["action"] == "compute" for each in startstops):
                startstops.insert(0, whole)
        records = self._records + self._marks
        return RecordList(sorted(records, key=lambda record: record["startstops"][0]["start"]))


def type_fields(name: str | None) -> dict[str, Any]:
    """A class by its name in the log: what records and plugins tell of it."""
    pickled, typename = _type_of(name or "")
    return {"type": pickled, "typename": typename}


@lru_cache(maxsize=1000)
def _type_of(name: str) -> tuple[bytes | None, str | None]:
    """A class by its ``module:qualified name``: as a pickle, and as Dask names it.

    The pickle names the class, as pickles of importable classes do. There is none of a class
    that cannot be imported by name: one of ``__main__``, or made within a function.
    """
    module, colon, qualified = name.partition(":")
    if not colon:
        return None, None
    plain = qualified.rpartition(".")[2]
    typename = plain if module in ("", "builtins") else f"{module}.{plain}"
    if module == "builtins":
        # Some types have that module and are not there: of functions, of modules.
        found = type(None) if plain == "NoneType" else getattr(builtins, qualified, None)
        return (pickle.dumps(found) if isinstance(found, type) else None), typename
    if module in ("", "__main__") or "<" in qualified or "…" in name:
        return None, typename
    return b"\x80\x04" + _pickled(module) + _pickled(qualified) + b"\x93.", typename


def _pickled(text: str) -> bytes:
    """A short text, as opcode of a pickle: names in the log have at most 1,000 characters."""
    body = text.encode("utf-8", "surrogatepass")
    return b"X" + len(body).to_bytes(4, "little") + body


def _error_fields(text: str) -> dict[str, Any]:
    """Of a traceback as text: what was raised, which is what follows the last frame."""
    lines = text.rstrip("\n").split("\n")
    heads = [number for number, line in enumerate(lines) if line == _HEAD]
    raised = lines[-1:]
    if heads:
        after = lines[heads[-1] + 1 :]
        raised = list(itertools.dropwhile(lambda line: line.startswith("  "), after))
    return {"exception_text": "\n".join(raised or lines[-1:]), "traceback_text": text}
