"""What a Dask scheduler tells when it is asked, and which is not in the log: logs, own profiles.

Nothing of the answers is believed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spanwise.dask_bridge.sample_trees import Frame, SampleTree
from spanwise.dask_bridge.viewer import Viewer
from spanwise.errors import ClusterError
from spanwise.observed.profiles import Profile, profile_of_stacks
from spanwise.records.enumerations import NONE_U32

_LONGEST_LINE = 10_000
_NOTHING = (
    "Dask has no samples of this time: event loops did nothing that was seen, or are not looked at "
    "(distributed.worker.profile.enabled, where they run)"
)

Lines = tuple[tuple[str, str], ...]


def own_profile(
    viewer: Viewer,
    start: float | None,
    stop: float,
    workers: Iterable[str] | None = None,
    of_scheduler: bool = False,
    by_worker: bool = False,
) -> Profile:
    """Where the event loops of workers, or of the scheduler, were while they did not wait.

    Parameters
    ----------
    stop
        So long ago that the second has ended: of one that still runs Dask would add samples of
        tasks.

    Raises
    ------
    ClusterError
        The scheduler cannot be asked.
    """
    asked: dict[str, Any] = {"start": start, "stop": stop}
    if of_scheduler:
        trees = {"": viewer.ask("profile", scheduler=True, **asked)}
    else:
        wanted = None if workers is None else [*workers]
        told = viewer.ask("profile", server=True, merge_workers=False, workers=wanted, **asked)
        trees = _by_worker(told, "profiles")
    stacks = {str(address): _stacks(tree) for address, tree in trees.items()}
    return profile_of_stacks(stacks, None, by_worker, _NOTHING, on_core=False)


def _stacks(tree: Any) -> list[tuple[tuple[Frame, ...], int]]:
    paths: list[tuple[Frame, ...]] = []
    numbers: dict[tuple[int, Frame], int] = {}

    def stack_of(parent: int, frame: Frame) -> int:
        number = numbers.get((parent, frame))
        if number is None:
            number = numbers[parent, frame] = len(paths)
            above = () if parent == NONE_U32 else paths[parent]
            paths.append((*above, frame))
        return number

    samples = SampleTree()
    samples.add(tree)
    return [(paths[stack], count) for stack, count in samples.stacks(stack_of).items()]


def scheduler_log(viewer: Viewer, most: int) -> Lines:
    """What the scheduler has logged: level and text, the newest line first.

    Raises
    ------
    ClusterError
        The scheduler cannot be asked.
    """
    return _lines(viewer.ask("logs", n=most), most)


def worker_logs(viewer: Viewer, most: int) -> dict[str, Lines]:
    """What each worker has logged, by its address.

    Raises
    ------
    ClusterError
        The scheduler cannot be asked.
    """
    told = _by_worker(viewer.ask("worker_logs", n=most), "logs")
    return {str(address): _lines(lines, most) for address, lines in told.items()}


def _by_worker(told: Any, what: str) -> dict[Any, Any]:
    if not isinstance(told, dict):
        raise ClusterError(f"The Dask scheduler has told no {what} of workers.")
    return told


def _lines(told: Any, most: int) -> Lines:
    if not isinstance(told, (list, tuple)):
        raise ClusterError("Of a log no lines were told.")
    return tuple(
        (str(line[0])[:40], str(line[1])[:_LONGEST_LINE])
        for line in told[:most]
        if isinstance(line, (list, tuple)) and len(line) == 2
    )
