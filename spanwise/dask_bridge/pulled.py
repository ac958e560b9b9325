"""Reads what the plugin on a scheduler answered: columns of the right kinds, or one sentence.

A scheduler may be anybody's, so nothing it says is believed: each list's length, each number, each
text. A row that is not as it must be is left out, and so is a kind of which that is not known; both
are said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

Columns = Mapping[str, list[Any]]

#: As in the plugin's text.
VERSION = 7
#: Of a list of columns, and of all texts of an answer.
MOST_ROWS = 250_000
MOST_TEXTS = 1_000_000
TEXT_LENGTH = 4_096
_LARGEST = 2**62
#: A kind with more bad rows is left out.
_MOST_BAD = 1_000

_INT, _FLOAT, _TEXT, _NEEDED = "int", "float", "text", "needed text"


def _kinds(**columns: str) -> dict[str, dict[str, str]]:
    """Columns by kind of row: `i:` whole numbers, `f:` numbers, `t:` texts that may lack."""
    found = {}
    for kind, said in columns.items():
        described = {}
        for column in said.split():
            mark, _, name = column.rpartition(":")
            described[name] = {"i": _INT, "f": _FLOAT, "t": _TEXT}.get(mark, _NEEDED)
        found[kind] = described
    return found


#: What rows and states consist of: docs/contracts.md §12.
ROWS = _kinds(
    done="i:n f:t key t:group t:prefix t:span worker i:thread i:erred i:nbytes t:type f:given "
    "i:parts t:text",
    parts="action f:start f:stop t:source",
    ended="i:n f:t key t:group t:prefix t:span state t:why",
    graphs="i:n f:t client i:keys i:wanted i:tasks",
    submitted="key t:group t:prefix t:span i:inferred",
    joined="i:n f:t worker i:threads",
    left="i:n f:t worker i:expected",
    client="i:n f:t client i:joined",
    restart="i:n f:t",
    event="i:n f:t topic t:text",
)
STATES = _kinds(
    workers="worker name host i:pid i:threads i:memory_limit f:joined status t:nanny t:version",
    gone="worker",
    clients="client i:joined f:seen",
    spans="id t:parent name f:enqueued f:start f:stop i:done i:nbytes i:groups",
    groups="group prefix t:span f:start f:stop i:nbytes i:done i:state_released i:state_waiting "
    "i:state_processing i:state_memory i:state_erred i:state_forgotten i:state_queued "
    "i:state_no_worker types",
    durations="group action f:seconds",
    fine="context t:span t:function activity unit f:value",
    memory="worker f:t f:at f:process f:managed f:spilled f:unmanaged_old f:optimistic f:cpu "
    "f:fds f:net_read f:net_write f:disk_read f:disk_write f:host_disk_read f:host_disk_write "
    "f:executing f:ready f:tick",
    executing="worker key t:group t:span f:seconds f:t",
    bandwidth="kind t:a t:b f:value",
    loop="f:t f:cpu f:memory f:fds f:net_read f:net_write f:disk_read f:disk_write f:tick",
    tasks="key t:group t:prefix t:span state t:worker i:nbytes t:type",
    waiting="reason i:tasks t:key need needs",
    progress="t:prefix t:span i:done i:memory i:running i:waiting i:failed i:dropped",
)
#: Rows that belong to rows of another kind, and the column that says how many.
_BELONG = {"parts": ("done", "parts"), "submitted": ("graphs", "tasks")}
#: Without one row of these nobody knows which ones belong together.
_TOGETHER = frozenset((*_BELONG, *(owner for owner, _ in _BELONG.values())))


class UnreadableAnswer(Exception):
    """Says what is wrong with an answer, as half a sentence."""


@dataclass
class Pulled:
    """One answer; docs/contracts.md §12 says what each field means.

    Attributes
    ----------
    rows, states
        Columns by kind; texts as texts, None: there is none.
    problems
        What was left out: a sentence for each kind.
    """

    plugin: str
    scheduler: str
    address: str
    python: str
    distributed: str
    now: float
    attached: float
    started: float
    viewers: int
    closing: float = -1.0
    cursor: int = 0
    first: int = 0
    newest: int = 0
    live: int = 0
    #: Runs before the cursor, `first` and `live`; -1: an older plugin does not say.
    runs: int = -1
    first_runs: int = -1
    live_runs: int = -1
    lost: int = 0
    lost_from: float = 0.0
    lost_to: float = 0.0
    state: int = -1
    #: What has changed beyond `state` waits for the next answers.
    state_newest: int = -1
    rows: dict[str, Columns] = field(default_factory=dict)
    states: dict[str, Columns] = field(default_factory=dict)
    states_more: dict[str, int] = field(default_factory=dict)
    cannot: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """Rows that were there and did not come."""
        return max(0, self.newest - self.cursor)

    @property
    def has_more(self) -> bool:
        """Whether rows or states wait."""
        return self.waiting > 0 or self.state < self.state_newest

    def is_no_further_than(self, before: Pulled | None) -> bool:
        """Whether the same plugin gave nothing more than in the answer before this one.

        It may tell of rows that it does not give: who asks at once again would ask without end.
        """
        return (
            before is not None
            and self.plugin == before.plugin
            and self.cursor <= before.cursor
            and self.state <= before.state
        )


def read_answer(answer: Any) -> Pulled:
    """Check an answer.

    Raises
    ------
    UnreadableAnswer
        It is none, says that the request was wrong, or its head is not as it must be.
    """
    if not isinstance(answer, dict):
        raise UnreadableAnswer("it is no dictionary")
    version = answer.get("version")
    if version != VERSION:
        raise UnreadableAnswer(f"it is of version {_short(version)}, this reads {VERSION}")
    if answer.get("error") is not None:
        raise UnreadableAnswer(_short(answer["error"]))
    head: dict[str, Any] = {}
    for name in ("plugin", "scheduler", "address", "python", "distributed"):
        head[name] = _text(answer.get(name), name)
    for name in ("now", "attached", "started"):
        head[name] = _float(answer.get(name), name)
    head["viewers"] = _int(answer.get("viewers"), "viewers")
    head["closing"] = _float(answer.get("closing", -1.0), "closing")
    if "cursor" not in answer:
        return Pulled(**head)  # (it was the last one: the viewer leaves)
    for name in ("cursor", "first", "newest", "live", "lost", "state"):
        head[name] = _int(answer.get(name), name)
    for name in ("runs", "first_runs", "live_runs", "state_newest"):
        head[name] = _int(answer.get(name, -1), name)
    for name in ("lost_from", "lost_to"):
        head[name] = _float(answer.get(name), name)
    if not 0 <= head["first"] <= head["cursor"] <= head["newest"]:
        raise UnreadableAnswer("its numbers of rows cannot be")
    pulled = Pulled(**head)
    texts = _texts(answer.get("texts"))
    _read(answer.get("rows"), ROWS, texts, pulled.rows, pulled.problems)
    _read(answer.get("states"), STATES, texts, pulled.states, pulled.problems)
    for kind, (owner, column) in _BELONG.items():
        _belong(pulled, kind, owner, column)
    for name, said in _mapping(answer.get("cannot")):
        pulled.cannot[_short(name)] = _short(said)
    for name, count in _mapping(answer.get("states_more")):
        pulled.states_more[_short(name)] = _int(count, "states_more")
    return pulled


def _read(
    said: Any,
    described: Mapping[str, Mapping[str, str]],
    texts: list[str],
    into: dict[str, Columns],
    problems: dict[str, str],
) -> None:
    if not isinstance(said, dict):
        raise UnreadableAnswer("it has no rows")
    for kind, columns in described.items():
        if kind in said:
            try:
                bad: dict[int, str] = {}
                found = _columns(said[kind], columns, texts, bad)
                if bad:
                    found = _well(found, bad, kind, problems)
                into[kind] = found
            except UnreadableAnswer as error:
                problems[kind] = f"Its {kind} cannot be read: {error}."


def _columns(
    said: Any, described: Mapping[str, str], texts: list[str], bad: dict[int, str]
) -> Columns:
    """Columns of one length; in which rows of them is what cannot be, goes into `bad`."""
    if not isinstance(said, dict):
        raise UnreadableAnswer("no columns")
    found: dict[str, list[Any]] = {}
    length = None
    for name, kind in described.items():
        column = said.get(name)
        if not isinstance(column, (list, tuple)):
            raise UnreadableAnswer(f"no column {name}")
        if length is None:
            length = len(column)
            if length > MOST_ROWS:
                raise UnreadableAnswer(f"{length} rows")
        elif len(column) != length:
            raise UnreadableAnswer(f"column {name} has {len(column)} rows of {length}")
        try:
            found[name] = _values(column, kind, name, texts)
        except UnreadableAnswer:
            found[name] = _values_one_by_one(column, kind, name, texts, bad)
    return found


def _values(column: Any, kind: str, name: str, texts: list[str]) -> list[Any]:
    if kind in (_TEXT, _NEEDED):
        return _looked_up(column, texts, name, kind == _NEEDED)
    return _numbers(column, kind, name)


def _values_one_by_one(
    column: Any, kind: str, name: str, texts: list[str], bad: dict[int, str]
) -> list[Any]:
    found: list[Any] = []
    for row, value in enumerate(column):
        try:
            found += _values([value], kind, name, texts)
        except UnreadableAnswer as error:
            bad.setdefault(row, str(error))
            if len(bad) > _MOST_BAD:
                raise
            found.append(None)
    return found


def _well(columns: Columns, bad: Mapping[int, str], kind: str, problems: dict[str, str]) -> Columns:
    """The rows that are well, if there are some that can do without the others."""
    because = next(iter(bad.values()))
    length = len(next(iter(columns.values())))
    if kind in _TOGETHER or len(bad) == length:
        raise UnreadableAnswer(because)
    problems[kind] = f"{len(bad)} of its {length} rows of {kind} cannot be read: {because}."
    return {
        name: [value for row, value in enumerate(column) if row not in bad]
        for name, column in columns.items()
    }


def _numbers(column: Any, kind: str, name: str) -> list[Any]:
    if kind == _INT:
        for value in column:
            if type(value) is not int or not -_LARGEST <= value <= _LARGEST:
                raise UnreadableAnswer(f"column {name} has {_short(value)}")
        return [*column]
    return [_float(value, f"column {name}") for value in column]


def _looked_up(column: Any, texts: list[str], name: str, needed: bool) -> list[str | None]:
    least, most = 0 if needed else -1, len(texts)
    found: list[str | None] = []
    for value in column:
        if type(value) is not int or not least <= value < most:
            raise UnreadableAnswer(f"column {name} has {_short(value)}")
        found.append(None if value < 0 else texts[value])
    return found


def _belong(pulled: Pulled, kind: str, owner: str, column: str) -> None:
    """Rows must be as many as their owners say, else nobody knows whose they are."""
    owners: list[int] = [*pulled.rows.get(owner, {}).get(column, ())]
    there = len(next(iter(pulled.rows.get(kind, {"": []}).values())))
    if any(count < 0 for count in owners) or sum(owners) != there:
        for each in (kind, owner):
            pulled.rows.pop(each, None)
        said = f"Its {owner} cannot be read: they do not have {there} {kind}."
        pulled.problems.setdefault(owner, said)


def _texts(said: Any) -> list[str]:
    if not isinstance(said, (list, tuple)) or len(said) > MOST_TEXTS:
        raise UnreadableAnswer("it has no texts")
    for text in said:
        if type(text) is not str:
            raise UnreadableAnswer(f"a text is {_short(text)}")
    return [text if len(text) <= TEXT_LENGTH else f"{text[: TEXT_LENGTH - 1]}…" for text in said]


def _mapping(said: Any) -> list[tuple[Any, Any]]:
    return [*said.items()][:100] if isinstance(said, dict) else []


def _text(value: Any, name: str) -> str:
    if type(value) is not str:
        raise UnreadableAnswer(f"{name} is {_short(value)}")
    return value[:TEXT_LENGTH]


def _int(value: Any, name: str) -> int:
    if type(value) is not int or not -_LARGEST <= value <= _LARGEST:
        raise UnreadableAnswer(f"{name} is {_short(value)}")
    return value


def _float(value: Any, name: str) -> float:
    if type(value) not in (int, float) or not -_LARGEST <= value <= _LARGEST:
        raise UnreadableAnswer(f"{name} is {_short(value)}")
    found = float(value)
    if not isfinite(found):
        raise UnreadableAnswer(f"{name} is {_short(value)}")
    return found


def _short(value: Any) -> str:
    """What a value looks like, whatever it is."""
    if type(value) in (str, int, float, bool) or value is None:
        text = value[:200] if isinstance(value, str) else f"{value!r:.40}"
        return text.encode("utf-8", "replace").decode("utf-8")
    return f"a {type(value).__name__}"
