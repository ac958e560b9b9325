"""How the threads of tasks are looked at: Dask's settings, read where a cluster is started.

``spanwise.worker.profile.…`` goes before ``distributed.worker.profile.…``, and that before the
names of old, ``profile-interval`` and ``profile-cycle-interval``::

    enabled    False: not at all
    interval   between looks, 10 ms; a number without a unit is milliseconds
    cycle      how often workers send what was seen, 1 s; likewise

``spanwise.scheduler.profile: True``: the scheduler looks at itself from its start on, not from the
first question for its profile on.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import dask
from dask.utils import parse_timedelta

from spanwise.client.settings import first_setting

#: More looks a second would take a core.
_SHORTEST_SECONDS = 0.001
_LONGEST_SECONDS = 60.0
_AT_ONCE = "spanwise.scheduler.profile"
_OLD_NAMES = {"interval": "profile-interval", "cycle": "profile-cycle-interval"}


def profile_settings() -> dict[str, Any]:
    """Return the field `profile` of the settings.

    Raises
    ------
    ValueError
        A setting cannot be understood.
    """
    name, enabled = _setting("enabled", True)
    if not isinstance(enabled, bool):
        raise ValueError(f"{name} is True or False, not {enabled!r}")
    at_once = dask.config.get(_AT_ONCE, None) or False
    if not isinstance(at_once, bool):
        raise ValueError(f"{_AT_ONCE} is True or False, not {at_once!r}")
    return {
        "scheduler": at_once,
        "enabled": enabled,
        "interval": _seconds("interval", "10ms"),
        "cycle": _seconds("cycle", "1s"),
    }


def _setting(name: str, default: Any) -> tuple[str, Any]:
    names = [f"spanwise.worker.profile.{name}", f"distributed.worker.profile.{name}"]
    if name in _OLD_NAMES:
        names.append(_OLD_NAMES[name])
    return first_setting(names, default, or_none=False)


def _seconds(name: str, default: str) -> float:
    full, value = _setting(name, default)
    try:
        seconds = float(parse_timedelta(value, default="ms"))
    except (TypeError, ValueError, KeyError, AttributeError):
        seconds = float("nan")
    if isinstance(value, bool) or not isfinite(seconds):
        raise ValueError(f'{full} is a time such as "{default}", or milliseconds: not {value!r}')
    if not _SHORTEST_SECONDS <= seconds <= _LONGEST_SECONDS:
        raise ValueError(
            f"{full} is a time from 1 ms to {_LONGEST_SECONDS:g} s, not {value!r}; "
            "distributed.worker.profile.enabled: False takes no samples at all"
        )
    return seconds
