"""The page of a performance report: what :class:`Page` shows of a stretch of time.

Each function makes sections of one answer; of an answer that has nothing in it, sections that say
why. Figures are those of the API, unrounded, and names those of the log: the page has the panels'
words and units for both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from spanwise.observed.questions import IDLE, FineMetrics, counts_twice
from spanwise.observed.span_info import SpanInfo
from spanwise.observed.task_records import STATUS

Section = dict[str, Any]
Chart = dict[str, Any]
Cell = dict[str, Any]
Record = Mapping[str, Any]

#: Records that are drawn; of more, those that took longest.
MOST_RECORDS = 10_000
#: Parts of them.
_MOST_PARTS = 50_000
#: Lines of a log, and characters of a text.
MOST_LINES = 1_000
_MOST_CHARACTERS = 100_000
_MOST_ROWS = 2_000
_KEY_CHARACTERS = 200

#: Actions as the page numbers them.
ACTIONS = (
    "compute",
    "transfer",
    "disk-read",
    "disk-write",
    "deserialize",
    "serialize",
    "import",
    "lost",
)
#: The log's names of statuses, by those of records.
_SAID = {status: said for said, status in STATUS.items()}
#: Where a function's colour is in the palette, and in which dozen.
Slot = tuple[int, int]
_OTHER: Slot = (-1, 0)
NO_TASKS = "no task ended in this time"


# -- cells and sections ----------------------------------------------------


def word(text: object, of: str = "") -> Cell:
    """A cell that is read; `of`: what it is a name of, for which the page has the panels' word."""
    return {"value": str(text), "as": of} if of else {"value": str(text)}


def _figure(value: float | None, of: str) -> Cell:
    known = value is not None and isfinite(value)
    return {"value": value if known else None, "as": of}


def seconds(value: float | None) -> Cell:
    """A cell of a duration."""
    return _figure(value, "seconds")


def nbytes(value: float | None) -> Cell:
    """A cell of bytes."""
    return _figure(value, "bytes")


def count(value: float | None) -> Cell:
    """A cell of how many."""
    return _figure(value, "count")


def _rate(value: float | None) -> Cell:
    return _figure(value, "bytes/s")


def _of_unit(value: float, unit: str) -> Cell:
    """Of another unit than the three it may be a ratio as well."""
    of = {"seconds": seconds, "bytes": nbytes, "count": count}.get(unit)
    return _figure(value, "amount") if of is None else of(value)


def table(
    title: str, columns: str, rows: Iterable[list[Cell]], nothing: str, note: str = ""
) -> Section:
    """A section of rows.

    Parameters
    ----------
    columns
        Names, parted by ``|``; of figures with ``#`` before them.
    nothing
        Why there is no row, if there is none.
    """
    shown = list(rows)
    if len(shown) > _MOST_ROWS:
        note = f"{note} The first {_MOST_ROWS:,} of {len(shown):,} rows.".strip()
    return {
        "kind": "table",
        "title": title,
        "missing": "" if shown else nothing,
        "note": note,
        "columns": [
            {"name": name.lstrip("#"), "numeric": name.startswith("#")}
            for name in columns.split("|")
        ],
        "rows": shown[:_MOST_ROWS],
    }


def text(title: str, content: str, nothing: str, note: str = "") -> Section:
    """A section of lines."""
    if len(content) > _MOST_CHARACTERS:
        note = f"{note} The first {_MOST_CHARACTERS:,} characters of {len(content):,}.".strip()
        content = content[:_MOST_CHARACTERS]
    return {
        "kind": "text",
        "title": title,
        "missing": "" if content else nothing,
        "note": note,
        "text": content,
    }


def unanswered(titles: Iterable[str], error: BaseException) -> list[Section]:
    """Sections in the place of those of an answer that has not come."""
    why = f"the cluster has not answered ({str(error).rstrip('.')})"
    return [text(title, "", why) for title in titles]


# -- sections of answers ---------------------------------------------------


def summary(
    duration: float, records: Sequence[Record] | None, facts: Iterable[tuple[str, Cell]]
) -> list[Section]:
    """How long it took, what ran, and on what.

    Parameters
    ----------
    records
        None: they are not known.
    """
    rows = [[word("Duration"), seconds(duration)]]
    if records is not None:
        rows.append([word("Task runs"), count(len(records))])
        rows += [
            [word(action, "parts"), seconds(total)]
            for action, total in sorted(seconds_by_action(records).items())
        ]
    rows += [[word(name), cell] for name, cell in facts]
    return [table("Summary", "Fact|#Value", rows, "")]


def seconds_by_action(records: Iterable[Record]) -> dict[str, float]:
    """Seconds of all parts of the records."""
    totals: dict[str, float] = {}
    for record in records:
        for part in record["startstops"]:
            taken = part["stop"] - part["start"]
            totals[part["action"]] = totals.get(part["action"], 0.0) + taken
    return totals


def task_stream(
    records: Sequence[Record], begin: float, duration: float, slots: Mapping[str, Slot]
) -> Section:
    """The picture of the records.

    Parameters
    ----------
    begin
        Of the time that is drawn, wall clock.
    slots
        Function → its colour and the colour's dozen, as panels have them.
    """
    drawn = [each for each in records if each["lane"] is not None]
    notes = []
    if len(drawn) < len(records):
        lost = len(records) - len(drawn)
        notes.append(f"Not drawn: tasks that were lost without a run ({lost:,}).")
    shown = _longest(drawn)
    left: dict[str, Any] = {}
    if len(shown) < len(drawn):
        seconds_left = sum(map(_held_seconds, drawn)) - sum(map(_held_seconds, shown))
        left = {"left": {"of": len(drawn), "seconds": seconds_left}}
    beside = {(each["worker_name"], each["lane"]): each["beside"] for each in shown}
    lanes = sorted(beside)
    lane_of = {lane: number for number, lane in enumerate(lanes)}
    names: dict[str, int] = {}
    boxes: dict[str, list[Any]] = {
        name: [] for name in ("record", "start", "duration", "function", "action", "held")
    }
    own = [names.setdefault(each["name"], len(names)) for each in shown]
    for number, record in enumerate(shown):
        for part in record["startstops"]:
            boxes["record"].append(number)
            boxes["start"].append(round(part["start"] - begin, 7))
            boxes["duration"].append(round(part["stop"] - part["start"], 9))
            boxes["function"].append(names.setdefault(part["function"], len(names)))
            action = part["action"]
            boxes["action"].append(ACTIONS.index(action) if action in ACTIONS else -1)
            boxes["held"].append(int(part["held"]))
    return {
        "kind": "task-stream",
        "title": "Task Stream",
        "missing": "" if shown else NO_TASKS,
        "note": " ".join(notes),
        **left,
        "seconds": duration,
        "actions": list(ACTIONS),
        "lanes": [
            {"worker": worker, "thread": lane}
            | ({"beside": beside[worker, lane]} if beside[worker, lane] else {})
            for worker, lane in lanes
        ],
        "functions": [
            {"name": name, "slot": slot, "round": dozen}
            for name, (slot, dozen) in ((name, slots.get(name, _OTHER)) for name in names)
        ],
        "records": {
            "key": [str(each["key"])[:_KEY_CHARACTERS] for each in shown],
            "lane": [lane_of[each["worker_name"], each["lane"]] for each in shown],
            "function": own,
            "status": [_SAID.get(each["status"], each["status"]) for each in shown],
        },
        "boxes": boxes,
    }


def _held_seconds(record: Record) -> float:
    """What the record took of its thread."""
    return sum(part["stop"] - part["start"] for part in record["startstops"] if part["held"])


def _longest(records: Sequence[Record]) -> list[Record]:
    """As many as a page draws, in their order."""
    by_time = sorted(range(len(records)), key=lambda place: -_held_seconds(records[place]))
    places: list[int] = []
    parts = 0
    for place in by_time[:MOST_RECORDS]:
        parts += len(records[place]["startstops"])
        if places and parts > _MOST_PARTS:
            break
        places.append(place)
    return [records[place] for place in sorted(places)]


FINE_TITLES = (
    "Fine Performance Metrics by function",
    "Fine Performance Metrics by activity",
    "Idle time by cause",
    "Background",
)


def _divided(
    activities: dict[Any, float], unit: str, off_core: Mapping[Any, float]
) -> dict[Any, float]:
    """The same with seconds off a core by their cause, as far as it is known, as panels have it.

    What `client.fine_metrics()` calls `thread-noncpu` is all of them; here it is the rest.
    """
    if unit != "seconds" or "thread-noncpu" not in activities:
        return activities
    whole = activities["thread-noncpu"]
    divided = activities.copy()
    rest = whole
    for cause in ("core", "gil", "blocked"):
        known = off_core.get(cause, 0.0)
        rest -= known
        # (a task may have measured something of that name)
        divided[cause] = divided.get(cause, 0.0) + known
    # Sums of fractions leave a rest of their last digits.
    divided["thread-noncpu"] = rest if rest > 1e-9 * whole else 0.0
    return divided


def fine_metrics(metrics: FineMetrics) -> list[Section]:
    """Where the threads' time went."""

    def by_value(found: Mapping[Any, float]) -> list[tuple[Any, float]]:
        return sorted(((k, v) for k, v in found.items() if v), key=lambda item: -item[1])

    # (context execute is what tasks held threads for; of idle time no thread did anything)
    runs = {key: value for key, value in metrics.items() if key[0] == "execute" and key[:3] != IDLE}
    of_runs = FineMetrics(runs, {})
    # (tasks of Dask wait for an event loop, and that is counted)
    of_seconds = "activity told" if metrics.summary.get("account") == "told" else "activity"
    off_core = metrics.by_activity(context="noncpu")
    functions = [[word(name), seconds(value)] for name, value in by_value(of_runs.by_function())]
    activities = [
        [
            word(_label(activity), of_seconds if unit == "seconds" else "activity of amount"),
            word(unit),
            _of_unit(value, unit),
        ]
        for unit in sorted({key[3] for key in runs}, key=lambda unit: (unit != "seconds", unit))
        for activity, value in by_value(_divided(of_runs.by_activity(unit), unit, off_core))
    ]
    idle = {key[2]: value for key, value in metrics.items() if key[0] == "idle"}
    background = [
        [
            word(context, "context of transfer" if activity == "transfer" else "context"),
            word(function),
            word(_label(activity), "moved"),
            word(unit),
            _of_unit(value, unit),
        ]
        for (context, function, activity, unit), value in by_value(metrics)
        if context != "execute" and not counts_twice((context, function, activity, unit))
    ]
    titles = iter(FINE_TITLES)
    return [
        table(next(titles), "Function|#Thread time", functions, NO_TASKS, " ".join(metrics.notes)),
        table(next(titles), "Activity|Unit|#Value", activities, NO_TASKS),
        table(
            next(titles),
            "Waited for|#Thread time",
            [[word(cause, "cause"), seconds(value)] for cause, value in by_value(idle)],
            "no thread was idle while there were unfinished tasks",
        ),
        table(
            next(titles),
            "Context|Function|Activity|Unit|#Value",
            background,
            "nothing was measured beside tasks in this time",
        ),
    ]


def slots_of(metrics: FineMetrics) -> dict[str, Slot]:
    """Function → its colour and its dozen, as panels have them, of those that took longest."""
    rows = metrics.summary.get("byFunction", ())
    return {row["function"]: (row["slot"], row["round"]) for row in rows}


def _label(activity: Any) -> str:
    return activity if isinstance(activity, str) else repr(activity)


def spans(infos: Sequence[SpanInfo], begin: float, end: float) -> Section:
    """The spans whose tasks ran in this time."""
    by_id = {each.id: each for each in infos}
    shown: list[tuple[SpanInfo, int]] = []
    left = [(each, 0) for each in reversed(infos) if each.parent not in by_id]
    while left:
        info, depth = left.pop()
        begun = info.start is not None and info.start < end
        if begun and (info.stop is None or info.running or info.stop >= begin):
            shown.append((info, depth))
        below = [by_id[each] for each in info.children if each in by_id]
        left += [(each, depth + 1) for each in reversed(below)]
    rows = [
        [
            word(info.tag),
            count(info.tasks),
            count(info.failed),
            seconds(info.duration),
            seconds(info.cpu),
            seconds(info.transfer),
            seconds(info.idle),
            nbytes(info.nbytes_total),
        ]
        for info, _ in shown
    ]
    section = table(
        "Spans",
        "Span|#Task runs|#Failed runs|#Thread time|#CPU|#Transfer|#Idle|#Results",
        rows,
        NO_TASKS,
        "Those that were active in this time, each with the figures of its whole life; what is "
        "within a span is counted in it.",
    )
    section["depths"] = [depth for _, depth in shown][:_MOST_ROWS]
    return section


BANDWIDTH_TITLES = ("Bandwidth by workers", "Bandwidth by types")


_LARGE = "of more than 1,000,000 bytes"


def bandwidth(found: Mapping[str, Any]) -> list[Section]:
    """How fast results went from worker to worker."""
    return _bandwidths(
        found,
        f"Bandwidths are of transfers {_LARGE}.",
        "no result went from worker to worker in this time",
        f"no results of one type {_LARGE} went from worker to worker in this time",
    )


def estimated_bandwidth(found: Mapping[str, Any]) -> list[Section]:
    """The same of a Dask cluster, whose scheduler tells no more than its newest estimates."""
    return _bandwidths(
        found,
        "What Dask’s scheduler estimates when the block ends, of all transfers until then: it "
        "tells neither bytes nor how many.",
        "Dask’s scheduler has heard of no transfer yet",
        "Dask’s scheduler has heard of no transfer of one type yet",
    )


def _bandwidths(found: Mapping[str, Any], note: str, no_pairs: str, no_types: str) -> list[Section]:
    pairs = [
        [
            word(each["source"]),
            word(each["destination"]),
            _rate(each["bandwidth"]),
            nbytes(each.get("bytes")),
            count(each.get("count")),
        ]
        for each in found["workers"]
    ]
    types = [[word(name), _rate(value)] for name, value in found["types"].items()]
    of_workers, of_types = BANDWIDTH_TITLES
    return [
        table(of_workers, "From|To|#Bandwidth|#Bytes|#Transfers", pairs, no_pairs, note),
        table(of_types, "Type|#Bandwidth", types, no_types, note),
    ]


def curves(
    section: Section, duration: float, lines: Sequence[Cell], charts: Iterable[Chart]
) -> Section:
    """A section of figures over time, with the table that it was until now.

    Parameters
    ----------
    lines
        What the lines of the charts are of.
    """
    shown = [chart for chart in charts if any(_has_value(line) for line in chart["lines"])]
    return {
        **section,
        "kind": "curves",
        "seconds": duration,
        "lines": list(lines),
        "charts": shown,
    }


def _has_value(line: Mapping[str, Any]) -> bool:
    return any(value is not None for value in line["value"])


def _line(
    number: int,
    times: Iterable[float],
    values: Iterable[float | None],
    begin: float,
    spans: Sequence[float] | None = None,
) -> dict[str, Any]:
    """A line of a chart, with times from the report's begin on."""
    line: dict[str, Any] = {
        "line": number,
        "t": [round(t - begin, 6) for t in times],
        "value": list(values),
    }
    return line if spans is None else {**line, "span": [round(each, 6) for each in spans]}


def _chart(title: str, of: str, lines: Iterable[dict[str, Any]]) -> Chart:
    return {"title": title, "as": of, "lines": list(lines)}


SYSTEM_TITLES = ("System",)
#: Title, what values are, and figure of `client.system_monitor()`; of a process, and of its host.
_OF_PROCESSES = (
    ("CPU", "percent", "cpu"),
    ("Resident memory", "bytes", "memory"),
    ("Read from disk", "bytes/s", "disk_io.read_bps"),
    ("Written to disk", "bytes/s", "disk_io.write_bps"),
    ("Descriptors", "count", "num_fds"),
)
_OF_HOSTS = (
    ("Received by the host", "bytes/s", "host_net_io.read_bps"),
    ("Sent by the host", "bytes/s", "host_net_io.write_bps"),
    ("Read from the host’s disks", "bytes/s", "host_disk_io.read_bps"),
    ("Written to the host’s disks", "bytes/s", "host_disk_io.write_bps"),
)


def system(
    found: Mapping[str, Mapping[str, Sequence[Any]]],
    begin: float,
    duration: float,
    hosts: Mapping[str, str],
) -> list[Section]:
    """What the system counted for processes and hosts.

    Parameters
    ----------
    found
        As `client.system_monitor()` gives it.
    begin
        Wall clock.
    hosts
        Process → its host, as far as that is known.
    """
    names = list(found)
    # All processes of a host say the same of it.
    of_hosts = {hosts.get(name, name): name for name in reversed(names)}
    rows = []
    for name, of in found.items():
        spans = of["seconds"]
        rows.append(
            [
                word(name),
                _percent(_mean(of["cpu"], spans)),
                _percent(_highest(of["cpu"])),
                nbytes(_highest(of["memory"])),
                nbytes(_total(of["disk_io.read_bps"], spans)),
                nbytes(_total(of["disk_io.write_bps"], spans)),
                count(_highest(of["num_fds"])),
            ]
        )
    section = table(
        SYSTEM_TITLES[0],
        "Process|#CPU, mean|#CPU, highest|#Highest memory|#Read|#Written|#Most descriptors",
        rows,
        "no process has said anything of itself in this time",
        "What the systems count for the processes, of each step of 0.5 s to 2 s that the block "
        "touches; bytes are those of the process. The network and the disks are those of all on "
        "the host.",
    )

    def drawn(figure: str, of: Iterable[str]) -> list[dict[str, Any]]:
        return [
            _line(
                names.index(name),
                found[name]["time"],
                found[name][figure],
                begin,
                found[name]["seconds"],
            )
            for name in of
        ]

    charts = [
        *(_chart(title, of, drawn(figure, names)) for title, of, figure in _OF_PROCESSES),
        *(
            _chart(title, of, drawn(figure, reversed(of_hosts.values())))
            for title, of, figure in _OF_HOSTS
        ),
    ]
    return [curves(section, duration, [word(name) for name in names], charts)]


def _percent(value: float | None) -> Cell:
    return _figure(value, "percent")


def _known(values: Sequence[float | None], spans: Sequence[float]) -> list[tuple[float, float]]:
    pairs = zip(values, spans, strict=True)
    return [(value, span) for value, span in pairs if value is not None]


def _total(values: Sequence[float | None], spans: Sequence[float]) -> float | None:
    known = _known(values, spans)
    return sum(value * span for value, span in known) if known else None


def _mean(values: Sequence[float | None], spans: Sequence[float]) -> float | None:
    total, known = _total(values, spans), _known(values, spans)
    return None if total is None else total / sum(span for _, span in known)


def _highest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


MEMORY_TITLES = ("Memory", "Memory runs")


def memory(answer: Mapping[str, Any], begin: float, end: float) -> list[Section]:
    """Processes' memory, and the blocks of `MemorySampler`.

    Parameters
    ----------
    answer
        Of view ``memory``.
    begin, end
        In seconds of the log.

    Raises
    ------
    LookupError, TypeError
        It is none.
    """
    lines = []
    for series in answer["series"]:
        known = [value for value in series["bytes"] if value is not None]
        if known:
            figures = [nbytes(each) for each in (min(known), max(known), known[-1])]
            lines.append([word(series["name"], "worker"), *figures])
    sampled = [
        run
        for run in answer["runs"]
        if run["start"] < end and (run["stopped"] is None or run["stopped"] >= begin)
    ]
    runs = [
        [
            word(run["label"]),
            word(run["measure"], "measure"),
            count(run["samples"]),
            *(nbytes(run[name]) for name in ("first", "last", "peak", "mean")),
        ]
        for run in sampled
    ]
    of_processes, of_runs = MEMORY_TITLES

    def drawn(
        made: Section, title: str, of: Sequence[Mapping[str, Any]], names: Sequence[Cell]
    ) -> Section:
        lines = [_line(n, each["t"], each["bytes"], begin) for n, each in enumerate(of)]
        return curves(made, end - begin, names, [_chart(title, "bytes", lines)])

    processes, of_sampler = [
        table(
            of_processes,
            "Processes of|#Lowest|#Highest|#Last",
            lines,
            "no memory was measured in this time",
            "What the system counts for the workers’ processes.",
        ),
        table(
            of_runs,
            "Label|Measure|#Samples|#First|#Last|#Highest|#Mean",
            runs,
            "no MemorySampler sampled in this time",
        ),
    ]
    return [
        drawn(
            processes,
            "Memory of processes",
            answer["series"],
            [word(each["name"], "worker") for each in answer["series"]],
        ),
        drawn(of_sampler, "Sampled memory", sampled, [word(each["label"]) for each in sampled]),
    ]


LOG_TITLES = ("Scheduler’s log", "Workers’ logs")


def scheduler_log(lines: Sequence[tuple[str, str]]) -> Section:
    """The newest lines, the newest first."""
    return text(
        LOG_TITLES[0],
        "\n".join(line for _, line in lines[:MOST_LINES]),
        "nothing was logged",
        f"The newest line first, at most {MOST_LINES:,}; of the time before the block too.",
    )


def worker_logs(logs: Mapping[str, Sequence[tuple[str, str]]]) -> Section:
    """The newest records of each worker, the newest first."""
    lines = [
        f"{address}  {level}  {line}"
        for address, found in logs.items()
        for level, line in found[:MOST_LINES]
    ]
    return text(
        LOG_TITLES[1],
        "\n".join(lines),
        "no worker has logged anything",
        f"The newest line first, at most {MOST_LINES:,} of each worker; of the time before the "
        "block too.",
    )


def statuses(records: Iterable[Record]) -> Counter[str]:
    """How many records end how."""
    return Counter(each["status"] for each in records)
