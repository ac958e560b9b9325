"""Settings of Dask's configuration under names of our own and of `distributed`'s."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dask

_UNSET = object()


def first_setting(names: Iterable[str], default: Any, *, or_none: bool = True) -> tuple[str, Any]:
    """Return the first of these settings that is set, by its name, for errors to say.

    Parameters
    ----------
    names
        Ours first, then `distributed`'s.
    default
        If none is set: then the second name stands for all, which users know.
    or_none
        False: one that is None counts as not set.
    """
    wanted = list(names)
    for name in wanted:
        value = dask.config.get(name, _UNSET)
        if value is not _UNSET and (or_none or value is not None):
            return name, value
    return wanted[1], default
