"""A labelled memory curve of a Dask cluster, as ``MemorySampler`` asks for it.

Dask's own scheduler takes the samples, for a client that is connected, and tells them when the
block ends. It takes none at the end: so a second curve is begun then, for its first sample.
"""

from __future__ import annotations

from contextlib import suppress
from time import time
from typing import Any

from spanwise.dask_bridge.viewer import Viewer
from spanwise.errors import ClusterError

#: As of our own schedulers.
_SHORTEST_SECONDS = 0.01
#: A sample sooner than this after another says nothing new.
_DOUBLE_SECONDS = 0.001

Samples = list[tuple[float, float]]


class DaskMemoryRun:
    """A block that Dask's scheduler samples.

    Parameters
    ----------
    viewer
        Watches the cluster; gets the curve when the block ends.
    client
        The id of a client of `distributed` that is connected: Dask samples for as long as it is.

    Raises
    ------
    ClusterError
        The scheduler cannot be asked.
    """

    def __init__(
        self, viewer: Viewer, client: str, label: str, measure: str, interval: float
    ) -> None:
        # Written so that NaN is too short, too.
        interval = interval if interval > _SHORTEST_SECONDS else _SHORTEST_SECONDS
        self._viewer = viewer
        self._fields = {"client": client, "measure": measure, "interval": interval}
        self._key = self._begin()
        log = viewer.log
        assert log is not None
        self._log = log
        start = time() + viewer.clock_offset
        self._number = log.begin_memory_run(label, measure, interval, start)

    def stop(self) -> Samples:
        """End it; returns (seconds since the epoch, bytes over all workers)."""
        samples: Samples = []
        try:
            samples = self._end(self._key)
            # (without it the others are still true)
            with suppress(ClusterError):
                last = self._end(self._begin())
                if last[0][0] - samples[-1][0] >= _DOUBLE_SECONDS:
                    samples.append(last[0])
        finally:
            # (of a scheduler that was started again there is another log)
            self._log.end_memory_run(self._number, time() + self._viewer.clock_offset, samples)
        return samples

    def _begin(self) -> Any:
        return self._viewer.ask("memory_sampler_start", **self._fields)

    def _end(self, key: Any) -> Samples:
        told = self._viewer.ask("memory_sampler_stop", key=key)
        if not isinstance(told, (list, tuple)) or not told:
            raise ClusterError("The Dask scheduler has told no samples of the block's memory.")
        return [_sample(each) for each in told]


def _sample(told: Any) -> tuple[float, float]:
    if (
        not isinstance(told, (list, tuple))
        or len(told) != 2
        or any(type(each) not in (int, float) or not abs(each) < 1e18 for each in told)
    ):
        raise ClusterError("The Dask scheduler's samples of memory cannot be read.")
    return float(told[0]), told[1]
