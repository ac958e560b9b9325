"""Metadata: small values under keys, which the scheduler keeps for all clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dask.typing import no_default

from spanwise.shared.metadata import get_metadata, set_metadata
from spanwise.shared.place import Place
from spanwise.shared.steps import run


class MetadataMethods:
    """What a client does with metadata."""

    if TYPE_CHECKING:
        asynchronous: bool
        _session: Any

    def set_metadata(self, key: Any, value: Any) -> Any:
        """Keep a value with the scheduler, for :meth:`get_metadata` of any client.

        Parameters
        ----------
        key
            A key, or a list of keys: ``["a", "b"]`` sets what is under ``"b"`` in the dict that
            is under ``"a"``, which is made if there is none.
        value
            Anything that can be pickled; lists of plain values arrive as tuples.

        Raises
        ------
        TypeError
            It cannot be pickled.
        ValueError
            What is under the first key gets larger than 10 MiB.
        IndexError
            The list of keys is empty.
        ClusterError
            There is no room for it: 10,000 keys, 64 MiB of all that is shared.
        """
        keys = key if isinstance(key, list) else [key]
        if not keys:
            raise IndexError("key is a key, or a list of some, and there is none in this one")
        return run(self._here(), set_metadata(keys, value))

    def get_metadata(self, keys: Any, default: Any = no_default) -> Any:
        """Get what :meth:`set_metadata` has set.

        Parameters
        ----------
        keys
            A key, or a list or tuple of keys.
        default
            What is returned for a missing key.

        Raises
        ------
        KeyError
            There is none, and no default.
        """
        found = list(keys) if isinstance(keys, (list, tuple)) else [keys]
        return run(self._here(), get_metadata(found, default))

    def _here(self) -> Place:
        return Place(self._session.shared, self.asynchronous, self)
