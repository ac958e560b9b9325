"""Says what to do instead where a task calls what only workers of `distributed` answer.

Libraries do, and so does code whose imports were not all changed. Such a call fails at once,
with words of `distributed` that tell a reader to start a cluster; the task's exception gets a
note beside them. `distributed` is not imported for that: the frames tell.
"""

from __future__ import annotations

from types import FrameType

from spanwise.wire.foreign import message_of, type_name
from spanwise.wire.tracebacks import TRACEBACK

_SUBMIT = (
    "In a task, spanwise.get_client() and spanwise.worker_client() give a client of its cluster, "
    "and spanwise has wait and as_completed of its own: import them from there"
)
_SHARE = "spanwise has one of that name: `from spanwise import {}`"
_THREAD = "Use spanwise.secede() and spanwise.rejoin()"

#: What is called, and what to do instead.
_INSTEAD = {
    "get_client": _SUBMIT,
    "worker_client": _SUBMIT,
    "default_client": _SUBMIT,
    "wait": _SUBMIT,
    "as_completed": _SUBMIT,
    "progress": _SUBMIT,
    "get_worker": "Use spanwise.get_worker(), which is the worker that runs the task",
    "secede": _THREAD,
    "rejoin": _THREAD,
    "Event": _SHARE,
    "Lock": _SHARE,
    "MultiLock": _SHARE,
    "Queue": _SHARE,
    "Semaphore": _SHARE,
    "Variable": _SHARE,
}
#: Where functions stand that theirs are wrapped in.
_AROUND = "spanwise.client.beside_distributed"
#: Where such a call ends.
_ENDS = {"get_client", "get_worker", "default_client", "rejoin"}


#: Methods of these that do not look whether there is a client find None in its place.
_SHARED = {"Lock", "Semaphore", "MultiLock", "Event", "Queue", "Variable"}

#: What it raises then: of Python's own, so that nothing of the user's runs here.
_RAISES = (ValueError, RuntimeError, AttributeError)


def advice(error: BaseException) -> str:
    """A sentence for an error that a call of `distributed` has raised; "" for any other."""
    if type(error) not in _RAISES:
        return ""
    called = ended = ""
    trace = TRACEBACK.__get__(error)
    while trace is not None:
        frame = trace.tb_frame
        module = frame.f_globals.get("__name__")
        if type(module) is str and module.startswith("distributed."):
            called = called or _called(frame)
            ended = frame.f_code.co_name
        elif module != _AROUND:
            # A function of the caller's, or one that it was given back to: a later call counts.
            called = ended = ""
        trace = trace.tb_next
    instead = _INSTEAD.get(called)
    if instead is None:
        return ""
    message = message_of(error)
    has_none = "not properly initialized" in message or (
        called in _SHARED and message.startswith("'NoneType' object has no attribute")
    )
    if ended not in _ENDS and not has_none:
        return ""  # it got further: a client of `distributed` is there
    return (
        f"({called}() is distributed's, and this task runs on a worker of Spanwise, not of "
        f"distributed. {instead.format(called)}.)"
    )


def _called(frame: FrameType) -> str:
    """The function or class of theirs; for a method that it inherits, the class of the object."""
    defined, _, method = frame.f_code.co_qualname.partition(".")
    name = type_name(frame.f_locals["self"]) if method and "self" in frame.f_locals else ""
    return name if name in _SHARED else defined
