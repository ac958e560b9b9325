"""What a client tells of transfers between workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spanwise.client.observed import Observed


class TransferMethods:
    """What a client tells of transfers between workers."""

    if TYPE_CHECKING:
        _observed: Observed

        def _call(self, function: Callable[..., Any], *args: Any) -> Any: ...

    def bandwidth(self, start: float | None = None, stop: float | None = None) -> Any:
        """How fast results went from worker to worker, as measured.

        Bandwidths are bytes per second: the sum of the bytes by the sum of the seconds, of
        transfers of more than 1,000,000 bytes. How fast smaller ones are is how long it takes
        to ask.

        Parameters
        ----------
        start, stop
            Wall clock, seconds since the epoch. Only transfers that began at `start` or later,
            and before `stop`, are counted.

        Returns
        -------
        dict
            ``total``: of all. ``types``: by the type of the results, of transfers that brought
            results of one type. ``workers``: a list of dicts, one for each ``source`` (the
            address of the worker that had the results) and ``destination``, with
            ``bandwidth``, and ``bytes`` and ``count`` of all transfers, also of small ones.
            A bandwidth that nothing was measured of is None.
        """
        return self._call(self._observed.bandwidth, start, stop)
