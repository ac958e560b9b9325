"""What an observer may keep: ``spanwise.observer.budget`` of Dask's configuration.

The tables of one log grow with it (``src/observer/store/store-bounds.ts``).
"""

from __future__ import annotations

from contextlib import suppress

SETTING = "spanwise.observer.budget"
DEFAULT_BYTES = 1 << 30
#: Less is a number that lacks its unit.
_LEAST_BYTES = 1 << 20


def observer_budget() -> int:
    """Bytes that an observer started now may keep of all runs together.

    Raises
    ------
    ValueError
        The setting cannot be understood.
    """
    # (a Jupyter server needs no Dask before an observer starts)
    import dask
    from dask.utils import parse_bytes

    value = dask.config.get(SETTING, None)
    if value is None:
        return DEFAULT_BYTES
    nbytes = 0
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            nbytes = parse_bytes(value)
    if nbytes < _LEAST_BYTES:
        raise ValueError(
            f'{SETTING} is a number of bytes, such as "4 GiB", and 1 MiB at least: not {value!r}'
        )
    return nbytes
