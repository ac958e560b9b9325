"""When a source looks for its observer again, and what its user is told meanwhile.

The twin of what ``src/link/observer-link.ts`` does for clusters::

    tried ──refused─▶ 0.1 s ─▶ tried ──refused─▶ 0.2 s … 2 s at most
                        └── took blocks, and did not refuse within 60 s: 0.1 s again

The count starts again when an open link ends without a refusal; how long a refused link lasted
does not matter.

An observer that opens each link and soon refuses it does not reset the pause: each new link
sends it all blocks again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spanwise.wire.errors import BrokenFrame, HandshakeRefused, RefusedThere

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0
#: A link that held this long before it was refused was a good one: panels showed the
#: log meanwhile.
GOOD_SECONDS = 60.0
#: The codes of refusals that do not pass by themselves.
LASTING_REFUSALS = frozenset(("secret", "protocol"))
#: Other refusals (a busy machine, a broken frame) are reported to the user after this many.
PASSING_REFUSALS = 5


@dataclass(frozen=True)
class Refusal:
    """One side turned the other away."""

    by_us: bool
    code: str
    sentence: str
    was_good: bool = False


def refusal_in(error: BaseException) -> Refusal | None:
    """The refusal that ended a link, or a try to open one; None if nobody refused."""
    if isinstance(error, BrokenFrame):
        return Refusal(True, "broken-frame", str(error))
    if isinstance(error, (HandshakeRefused, RefusedThere)):
        return Refusal(False, error.code, error.sentence)
    return None


class Tries:
    """Counts refusals; all times are seconds of one clock, which the caller reads."""

    def __init__(self) -> None:
        self._next_pause = FIRST_PAUSE_SECONDS
        #: Refusals in a row.
        self._refusals = 0
        #: The kind of the refusal that was told last; its sentence may hold numbers
        #: that grow.
        self._told: tuple[bool, str] | None = None
        self._opened_at: float | None = None
        self._is_believed = False

    def opened(self, now: float) -> None:
        """An observer has said from where it wants to go on."""
        self._opened_at = now
        self._is_believed = False

    def took(self) -> None:
        """It has acknowledged a block that it lacked."""
        self._is_believed = True

    def ended(self, error: BaseException | None, now: float) -> Refusal | None:
        """A try has failed, or a link ended; returns the refusal of which to tell the user now."""
        refusal = None if error is None else refusal_in(error)
        opened_at, self._opened_at = self._opened_at, None
        held = 0.0 if opened_at is None else now - opened_at
        is_good = opened_at is not None and (refusal is None or held >= GOOD_SECONDS)
        if is_good and self._is_believed:
            self._next_pause = FIRST_PAUSE_SECONDS
        if refusal is None:
            if is_good:
                self._refusals = 0
                self._told = None
            return None
        self._refusals += 1
        passes = refusal.code not in LASTING_REFUSALS and self._refusals < PASSING_REFUSALS
        kind = (refusal.by_us, refusal.code)
        if passes or kind == self._told:
            return None
        self._told = kind
        return replace(refusal, was_good=is_good)

    def pause(self) -> float:
        """How long to wait before the next try."""
        pause = self._next_pause
        self._next_pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return pause
