"""Metadata: values under nested keys, kept by the scheduler."""

from __future__ import annotations

from typing import Any

from dask.typing import no_default

from spanwise.errors import ClusterError
from spanwise.shared.requests import Call
from spanwise.shared.steps import Steps, checked
from spanwise.shared.values import name_of, name_text, open_values, pack_value

#: Others that change the same key in between make one try in vain.
_TRIES = 1_000
_MISSING: Any = object()


def set_metadata(keys: list[Any], value: Any) -> Steps[None]:
    """Set what is under nested keys; dicts on the way are made, other values replaced by them."""
    first, rest = keys[0], keys[1:]
    name = name_text(first)
    if not rest:
        content, futures = pack_value(value)
        yield from checked(Call("metadata", "set", name, value=content, futures=futures))
        return
    for _ in range(_TRIES):
        version, before = yield from _get(name)
        after = _changed(before, rest, value)
        fields = {"version": version}
        content, futures = pack_value(after)
        call = Call("metadata", "set", name, fields=fields, value=content, futures=futures)
        answer = yield from checked(call)
        if answer.outcome == "done":
            return
    raise ClusterError(
        f"Others kept changing the metadata of {first!r} meanwhile: use another first key"
    )


def get_metadata(keys: list[Any], default: Any) -> Steps[Any]:
    """Get what is under nested keys; without a key all of it."""
    if keys:
        first = keys[0]
        _, found = yield from _get(name_text(first))
        found = {} if found is _MISSING else {first: found}
    else:
        answer = yield from checked(Call("metadata", "list", ""))
        names = [name_of(text) for text in answer.names]
        values = open_values(answer.values, holds=[answer.hold])
        found = dict(zip(names, values, strict=True))
    try:
        for key in keys:
            found = found[key]
    except KeyError:
        if default is no_default:
            raise
        return default
    return found


def _get(name: str) -> Steps[tuple[int, Any]]:
    answer = yield from checked(Call("metadata", "get", name))
    if answer.outcome != "done":
        return 0, _MISSING
    return answer.number, open_values(answer.values, holds=[answer.hold])[0]


def _changed(before: Any, keys: list[Any], value: Any) -> Any:
    """What was there, with another value under nested keys."""
    first, *rest = keys
    # As with `distributed`, a list counts as a place for keys; one that is not pickled is a tuple.
    after = before if isinstance(before, (dict, list)) else {}
    try:
        inner = after[first]
    except (KeyError, IndexError):
        inner = _MISSING
    after[first] = _changed(inner, rest, value) if rest else value
    return after
