"""Large arguments of many calls, each put on the workers once and found again there.

An array, a frame or any other object that can be referred to weakly is known by its identity: it
is not to be changed while calls with it are handed out. What cannot be referred to weakly (a list,
a text) is known by what is in it, and goes as a pickle, of which each batch makes its own.
"""

from __future__ import annotations

import pickle
import weakref
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from dask.sizeof import sizeof

if TYPE_CHECKING:
    from spanwise.client.client import Client
    from spanwise.client.future import Future

#: What is smaller goes with each call: that takes less than to put it and to fetch it.
LARGE_BYTES = 16 * 1024
#: So many contents are known at a time; a value that goes to every call is met again before.
CONTENTS = 16
#: Types without weak references whose large values are met again.
_BY_CONTENT = frozenset({list, tuple, dict, str, bytes, bytearray})
_NEVER = frozenset({int, float, complex, bool, type(None), type})


class Place(NamedTuple):
    """Where a value is."""

    future: Future
    #: As a pickle.
    pickled: bool


class PlacedOnce:
    """The values that one client has put on workers for some calls.

    Parameters
    ----------
    client
        Whose workers.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._by_identity: dict[int, tuple[weakref.ref[Any], Future]] = {}
        self._by_content: OrderedDict[bytes, Future] = OrderedDict()

    def place(self, value: Any) -> Place | None:
        """Where a value is, which is put there if it is large and new; None: it is to go along."""
        kind = type(value)
        if kind in _NEVER or _bytes_of(value) < LARGE_BYTES:
            return None
        if kind in _BY_CONTENT:
            return self._place_content(value)
        try:
            reference = weakref.ref(value, self._forgetting(id(value)))
        except TypeError:
            return None
        known = self._by_identity.get(id(value))
        if known is not None and known[0]() is value:
            return Place(known[1], False)
        future = self._client.scatter([value], hash=False)[0]
        self._by_identity[id(value)] = reference, future
        return Place(future, False)

    def _place_content(self, value: Any) -> Place | None:
        try:
            pickled = pickle.dumps(value, protocol=5)
        except Exception:  # noqa: BLE001 (it may go by other means with its call, or raises there)
            return None
        if b"__main__" in pickled:  # workers do not find there what is found here
            return None
        content = blake2b(pickled, digest_size=16).digest()
        future = self._by_content.get(content)
        if future is None:
            future = self._client.scatter([pickled], hash=False)[0]
            self._by_content[content] = future
            if len(self._by_content) > CONTENTS:
                self._by_content.popitem(last=False)
        self._by_content.move_to_end(content)
        return Place(future, True)

    def _forgetting(self, identity: int) -> Any:
        known = self._by_identity

        def forget(reference: weakref.ref[Any]) -> None:
            # Another object may have the identity by now.
            found = known.get(identity)
            if found is not None and found[0] is reference:
                known.pop(identity, None)

        return forget

    def clear(self) -> None:
        """Let go of all of them."""
        self._by_identity.clear()
        self._by_content.clear()


def _bytes_of(value: Any) -> int:
    if hasattr(type(value), "__dask_graph__"):
        return 0  # (it is a recipe, and says how large the dish is)
    try:
        nbytes = getattr(value, "nbytes", None)
        return nbytes if type(nbytes) is int else int(sizeof(value))
    except Exception:  # noqa: BLE001 (an object of somebody's, which goes with its call then)
        return 0
