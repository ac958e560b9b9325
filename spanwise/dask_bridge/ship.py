"""Brings the plugin to a scheduler, which has nothing of Spanwise.

What is sent is a pickle that names functions of Python alone, and holds the plugin's text:

    eval("[exec(compile(text, …), space), space['Bridge']()][1]", {"text": …, "space": {}})

So the scheduler may have another Python, whose bytecode would be another one.
"""

from __future__ import annotations

import asyncio
import pickle
from functools import cache
from importlib import resources
from typing import Any

from spanwise.dask_bridge.pulled import VERSION
from spanwise.dask_bridge.reach import AnsweredBadly
from spanwise.errors import ClusterError

#: As in the plugin's text.
OPERATION = f"spanwise_pull_{VERSION}"
NAME = f"spanwise-bridge-{VERSION}"

#: The oldest release of `distributed` whose schedulers are watched.
OLDEST = (2024, 5, 0)
#: For each answer of a scheduler.
ANSWER_SECONDS = 10.0

_FORBIDDEN = (
    "The scheduler takes no plugins: distributed.scheduler.blocked-handlers has "
    "register_scheduler_plugin. Have it taken off that list, where the scheduler is configured, to "
    "see all."
)
_EXPRESSION = "[exec(compile(text, '<spanwise bridge>', 'exec'), space), space['Bridge']()][1]"


class PluginForbidden(ClusterError):
    """The scheduler takes no plugins; `WithoutCode` sees a part of what happens there."""


class _ByText:
    """Becomes the plugin where it is un-pickled."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __reduce__(self) -> tuple[Any, ...]:
        space = {"__name__": "spanwise_bridge"}
        return (eval, (_EXPRESSION, {"text": self._text, "space": space}))


@cache
def plugin_pickle() -> bytes:
    """The plugin as it is sent."""
    text = resources.files("spanwise.dask_bridge").joinpath("plugin_source.py").read_text("utf-8")
    # (schedulers of all releases can read this protocol)
    return pickle.dumps(_ByText(text), protocol=4)


async def ship(scheduler: Any, seconds: float = ANSWER_SECONDS) -> None:
    """Put the plugin on a scheduler, unless it is there.

    Parameters
    ----------
    scheduler
        A `distributed.core.rpc` to it.
    seconds
        For each of its answers.

    Raises
    ------
    PluginForbidden
        It takes no plugins.
    AnsweredBadly
        It is no scheduler, too old, or did not take this one: why, and what to do.
    OSError, TimeoutError
        It could not be reached.
    """
    identity = await ask(scheduler.identity(), seconds)
    if not isinstance(identity, dict) or identity.get("type") != "Scheduler":
        kind = identity.get("type") if isinstance(identity, dict) else None
        what = f"a {kind}" if isinstance(kind, str) and kind else "something else"
        raise AnsweredBadly(
            f"{scheduler.address} is not a Dask scheduler but {what[:40]}: give the address that "
            "`dask scheduler` prints, or a client's `scheduler.address`."
        )
    too_old = _too_old(await _version_of(scheduler, seconds))
    if too_old:
        raise AnsweredBadly(too_old)
    try:
        await ask(
            scheduler.register_scheduler_plugin(plugin=plugin_pickle(), name=NAME, idempotent=True),
            seconds,
        )
    except (OSError, TimeoutError):
        raise
    except Exception as error:  # noqa: BLE001 (whatever was raised there)
        said = str(error)
        if "explicitly disallowed" in said:
            raise PluginForbidden(_FORBIDDEN) from None
        raise AnsweredBadly(
            f"The scheduler did not take the plugin by which Spanwise watches it: {said[:500]}"
        ) from None


async def _version_of(scheduler: Any, seconds: float) -> str | None:
    """The release of `distributed` that a scheduler says it has."""
    try:
        versions = await ask(scheduler.versions(), seconds)
    except (OSError, TimeoutError):
        raise
    except Exception:  # noqa: BLE001 (it does not say; what it lacks is seen later)
        return None
    packages = versions.get("packages") if isinstance(versions, dict) else None
    found = packages.get("distributed") if isinstance(packages, dict) else None
    return found[:40] if isinstance(found, str) else None


def _too_old(version: str | None) -> str:
    """A sentence if it is; '' if not, or if that cannot be said."""
    numbers = []
    for part in (version or "").split(".")[:3]:
        digits = "".join(character for character in part if character.isdigit())
        if not digits:
            break
        numbers.append(int(digits))
    if not numbers or tuple(numbers) >= OLDEST[: len(numbers)]:
        return ""
    oldest = ".".join(map(str, OLDEST))
    return (
        f"The scheduler has distributed {version}, which is older than {oldest}, the oldest that "
        "Spanwise can watch: upgrade it there."
    )


async def ask(asked: Any, seconds: float = ANSWER_SECONDS) -> Any:
    """Wait for an answer of a scheduler, but no longer than that."""
    async with asyncio.timeout(seconds):
        return await asked
