"""The profile of the scheduler's process, from the JSON that it answers."""

from __future__ import annotations

import json
from typing import Any

from spanwise.observed.profiles import Profile, profile_of_stacks

_NOTHING = (
    "the scheduler has done nothing that was seen. It is looked at from the first question for "
    "its profile on, or from its start with the setting spanwise.scheduler.profile: True"
)
_NEVER = (
    "the scheduler is not looked at. That begins with the first client.profile(scheduler=True), or "
    "with the scheduler by the setting spanwise.scheduler.profile: True"
)


class SchedulerProfile:
    """What the scheduler answers.

    Attributes
    ----------
    since
        From when on it has samples, seconds since the scheduler's start; None: it has none.
    why
        What went wrong; empty if nothing did.
    """

    def __init__(self, answer: bytes) -> None:
        self._told: dict[str, Any] = json.loads(answer)
        self.since: float | None = self._told["since"]
        self.why: str = self._told["why"]

    def between(self, start: float, stop: float) -> Profile:
        """The profile of the seconds that a range touches, seconds since the scheduler's start."""
        told = self._told
        frames = [tuple(frame) for frame in told["frames"]]
        #: Place → frames, the outermost first. A caller's place comes before those it calls.
        paths: list[tuple[Any, ...]] = [()]
        for parent, frame in zip(told["parents"][1:], told["frameOf"][1:], strict=True):
            paths.append((*paths[parent], frames[frame]))
        found = [
            (paths[place], count)
            for second, counts in told["buckets"]
            if second + 1 > start and second <= stop
            for place, count in zip(counts[::2], counts[1::2], strict=True)
        ]
        nothing = _NEVER if self.since is None else _NOTHING
        return profile_of_stacks({"": found}, told["interval"], False, nothing)
