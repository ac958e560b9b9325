"""Functions of futures for a notebook whose client may be one of Spanwise or of Dask."""

from __future__ import annotations

import sys
from typing import Any

from spanwise.client.future import Future
from spanwise.client.futures_of import each_in
from spanwise.client.futures_of import futures_of as own_futures_of


def holds_dasks_futures(o: Any) -> bool:
    """Whether the first future in an object is one of `distributed`, which is not imported."""
    kind = getattr(sys.modules.get("distributed"), "Future", None)
    return kind is not None and isinstance(next(each_in(o, (Future, kind)), None), kind)


def dasks_own(name: str) -> Any:
    """A function of `distributed`, whose futures somebody has."""
    return getattr(sys.modules["distributed"], name)


def futures_of(o: Any, client: Any = None) -> list[Any]:
    """Return the futures in an object, each once.

    Parameters
    ----------
    o
        A future, a collection that `persist` returned or that was made of one, or lists, tuples,
        sets and dicts of those, in each other. Those of `distributed` its own `futures_of` finds.
    client
        Look for cancelled ones.

    Raises
    ------
    CancelledError
        Of the first one that was cancelled, if a client is given.
    """
    if holds_dasks_futures(o):
        return list(dasks_own("futures_of")(o, client=client))
    return own_futures_of(o, client)


__all__ = ["futures_of"]
