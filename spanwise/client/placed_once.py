"""Large arguments of many calls, each put on the workers once and found again there.

A value is known again by what is in it, for it may have changed since the last call. Two kinds are
known as the objects that they are: what cannot change (a text, bytes), and a large array, as of
joblib, which is not to be changed while calls with it are handed out. So is the memory of such an
array in something else, as of a frame.

What calls could change for each other goes as a pickle, of which each batch makes its own. A list
or a set is read for each batch, which takes 15 ms of a million numbers: to compare it with what it
was takes as long if it is done by identity, and by ``==`` a 1 that became True is not seen.
"""

from __future__ import annotations

import pickle
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from dask.sizeof import sizeof

from spanwise.client.joblib_batch import is_array

if TYPE_CHECKING:
    from spanwise.client.client import Client
    from spanwise.client.future import Future

#: What is smaller goes with each call: that takes less than to put it and to fetch it.
LARGE_BYTES = 16 * 1024
#: From here on an array is known as the object that it is, as of joblib; others are read soon.
SHARED_BYTES = 1 << 20
#: So many contents are known at a time; a value that goes to every call is met again before.
CONTENTS = 16
_NEVER = frozenset({int, float, complex, bool, type(None), type})
_UNCHANGING = frozenset({str, bytes})


class Place(NamedTuple):
    """Where a value is."""

    future: Future
    #: As a pickle.
    pickled: bool


class _Array(NamedTuple):
    """An array that is on the workers.

    Attributes
    ----------
    content
        What was in it, if it is not known as the object that it is.
    """

    reference: weakref.ref[Any]
    content: bytes | None
    future: Future


class PlacedOnce:
    """The values that one client has put on workers for some calls.

    Parameters
    ----------
    client
        Whose workers.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        #: Of two threads with a new value one puts it there.
        self._placing = threading.Lock()
        self._arrays: dict[int, _Array] = {}
        #: By identity or by content; with what has to live as long as it is known by identity.
        self._last: OrderedDict[Hashable, tuple[Future, Any]] = OrderedDict()

    def place(self, value: Any) -> Place | None:
        """Where a value is, which is put there if it is large and new; None: it is to go along."""
        kind = type(value)
        if kind in _NEVER or _bytes_of(value) < LARGE_BYTES:
            return None
        with self._placing:
            if kind in _UNCHANGING:
                return Place(self._known(id(value)) or self._know(id(value), value, value), False)
            return self._place_array(value) if is_array(value) else self._place_content(value)

    def _place_array(self, value: Any) -> Place:
        content = None if value.nbytes >= SHARED_BYTES else _read(value).digest
        known = self._arrays.get(id(value))
        if known is None or known.reference() is not value or known.content != content:
            reference = weakref.ref(value, self._forgetting(id(value)))
            known = _Array(reference, content, self._put(value))
            self._arrays[id(value)] = known
        return Place(known.future, False)

    def _place_content(self, value: Any) -> Place | None:
        try:
            read = _read(value)
        except Exception:  # noqa: BLE001 (it may go by other means with its call, or raises there)
            return None
        if read.is_of_program:
            return None
        future = self._known(read.digest)
        if future is None:
            future = self._know(read.digest, pickle.dumps(value, protocol=5), read.shared)
        return Place(future, True)

    def _known(self, name: Hashable) -> Future | None:
        known = self._last.get(name)
        if known is None:
            return None
        self._last.move_to_end(name)
        return known[0]

    def _know(self, name: Hashable, value: Any, held: Any) -> Future:
        future = self._put(value)
        self._last[name] = future, held
        if len(self._last) > CONTENTS:
            self._last.popitem(last=False)
        return future

    def _put(self, value: Any) -> Future:
        future: Future = self._client.scatter([value], hash=False)[0]
        return future

    def _forgetting(self, identity: int) -> Any:
        known = self._arrays

        def forget(reference: weakref.ref[Any]) -> None:
            # Another object may have the identity by now.
            found = known.get(identity)
            if found is not None and found.reference is reference:
                known.pop(identity, None)

        return forget


class _Read(NamedTuple):
    """What a value was found to be.

    Attributes
    ----------
    digest
        Of what is in it, and of where its memory is that is known by identity.
    shared
        That memory: as long as it is held nothing else is there.
    is_of_program
        It names what workers do not find where it is found here.
    """

    digest: bytes
    shared: list[memoryview]
    is_of_program: bool


def _read(value: Any) -> _Read:
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    content = blake2b(pickled, digest_size=16)
    shared = []
    for buffer in buffers:
        raw = buffer.raw()
        address = _address_of(raw) if raw.nbytes >= SHARED_BYTES else None
        content.update(b"%d %d " % (raw.nbytes, address or 0))
        if address is None:
            content.update(raw)
        else:
            shared.append(raw)
    return _Read(content.digest(), shared, b"__main__" in pickled)


def _address_of(memory: memoryview) -> int | None:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    return int(numpy.frombuffer(memory, "u1").__array_interface__["data"][0])


def _bytes_of(value: Any) -> int:
    if hasattr(type(value), "__dask_graph__"):
        return 0  # (it is a recipe, and says how large the dish is)
    try:
        nbytes = getattr(value, "nbytes", None)
        return nbytes if type(nbytes) is int else int(sizeof(value))
    except Exception:  # noqa: BLE001 (an object of somebody's, which goes with its call then)
        return 0
