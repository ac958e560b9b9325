"""What `distributed` says when it is given futures of Spanwise, or asked for a client it has not.

Code whose imports were not all changed calls ``distributed.wait`` with our futures. Without a
client of its own that fails with words that tell a reader to start a cluster; with one it
returns at once as if all were done, since it looks past them. So some of its functions are
wrapped, now or when somebody imports it: what they answer stays as it is, an error for want of a
client says where ours are, and finding nothing but futures of ours becomes an error. Its locks,
events, queues and variables say the same if they find no client of its own. joblib, which has a
backend for `distributed`, is told of ours.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

import dask

from spanwise.amended import Wrapping, amend
from spanwise.client.futures_of import futures_of

_METHODS = "or call methods of the client, such as gather()"
_ADVICE = (
    "spanwise has wait, as_completed, futures_of and get_client of its own: import them from "
    f"there (`from spanwise import wait`), {_METHODS}"
)
#: What is called, and what to do instead, if that is not what all others have.
_INSTEAD = {
    "Client": "Use spanwise.Client.current()",
    "get_worker": "There is a worker in tasks alone: `from spanwise import get_worker` there",
    "secede": "It is for tasks: `from spanwise import secede`",
    "rejoin": "It is for tasks: `from spanwise import rejoin`",
    "worker_client": "It is for tasks: `from spanwise import worker_client`. Elsewhere use the "
    "client that is open, which `spanwise.get_client()` gives",
}
#: The module of joblib's backend "dask", and what it is told.
_JOBLIB = "joblib._dask"
_WITH_JOBLIB = (
    'joblib\'s backend "dask" needs a client of distributed, and the current client is one of '
    "Spanwise. Write:\n\n"
    "    import spanwise.joblib\n\n"
    '    with joblib.parallel_config("spanwise"):'
)


def advise_beside_distributed() -> None:
    """Have `distributed` say of our futures what to do with them; twice is safe."""
    amend(_WRAPPED)


def _advising(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(theirs)
    def their_client(*args: Any, **kwargs: Any) -> Any:
        try:
            return theirs(*args, **kwargs)
        except ValueError as error:
            if _is_ours_open() and sys._getframe(1).f_globals.get("__name__") == _JOBLIB:
                # (joblib replaces a ValueError by advice to start a cluster)
                raise RuntimeError(_WITH_JOBLIB) from None
            # In a task the note says it that every exception of such calls gets there.
            if _is_ours_open() and not _in_task() and _ADVISED not in str(error):
                called = _called(sys._getframe(1)) or theirs.__name__
                advice = _INSTEAD.get(called, f"Use `from spanwise import {called}`, {_METHODS}")
                what = str(error).partition("\n")[0]
                # The very error, as others may expect it, without the advice to start a cluster.
                error.args = (f"{what}: {_ADVISED}. {advice}.",)
            raise

    return their_client


#: What such an error says beside its own words.
_ADVISED = "the current client is one of Spanwise, not of distributed"


def _called(frame: FrameType | None) -> str:
    """The function or class of theirs that was called first; empty: none was before this one."""
    called = ""
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(
        ("distributed.", "spanwise.client.beside_distributed")
    ):
        if not str(frame.f_globals["__name__"]).startswith("spanwise."):
            called = frame.f_code.co_qualname.partition(".")[0]
        frame = frame.f_back
    return called


def _in_task() -> bool:
    return getattr(threading.current_thread(), "worker", None) is not None


def _is_ours_open() -> bool:
    return hasattr(dask.config.get("scheduler", default=None), "_session")


def _naming(*methods: str) -> Callable[[type], type]:
    """Have methods of a class say where ours of its name is."""

    def amended(theirs: type) -> type:
        for method in methods:
            setattr(theirs, method, _telling(getattr(theirs, method)))
        return theirs

    return amended


def _telling(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(theirs)
    def their_method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return theirs(self, *args, **kwargs)
        except (RuntimeError, ValueError, AttributeError) as error:
            if _in_task() or not _is_ours_open() or not str(error).startswith(_WITHOUT_CLIENT):
                raise
            name = type(self).__name__
            raise RuntimeError(
                f"distributed.{name} needs a client of distributed, and the one that is open is of "
                f"Spanwise: use `from spanwise import {name}`"
            ) from error

    return their_method


def _refusing(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(theirs)
    def their_futures_of(o: Any, *args: Any, **kwargs: Any) -> Any:
        found = theirs(o, *args, **kwargs)
        if not found and futures_of(o):
            raise TypeError(f"These are futures of Spanwise, not of distributed: {_ADVICE}.")
        return found

    return their_futures_of


#: How their errors begin then.
_WITHOUT_CLIENT = ("<class 'distributed.", "'NoneType' object has no attribute", "No worker found")

_WRAPPED: dict[str, dict[str, Wrapping]] = {
    "distributed.client": {"default_client": _advising, "futures_of": _refusing},
    "distributed.worker": {"get_client": _advising, "get_worker": _advising},
    "distributed.event": {"Event": _naming("_verify_running")},
    "distributed.multi_lock": {"MultiLock": _naming("__init__")},
    "distributed.queues": {"Queue": _naming("_verify_running")},
    "distributed.semaphore": {"Semaphore": _naming("_verify_running", "register")},
    "distributed.variable": {"Variable": _naming("_verify_running")},
}
