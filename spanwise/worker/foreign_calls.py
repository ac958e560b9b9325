"""Says what to do instead where a task calls what only workers of `distributed` answer.

Libraries do, and so does code whose imports were not all changed. Such a call fails at once,
with words of `distributed` that tell a reader to start a cluster; the task's exception gets a
note beside them. Neither is `distributed` imported nor changed: the frames tell.
"""

from __future__ import annotations

from spanwise.wire.foreign import message_of
from spanwise.wire.tracebacks import TRACEBACK

_SUBMIT = (
    "In a task, spanwise.get_client() and spanwise.worker_client() give a client of its cluster, "
    "and spanwise has wait and as_completed of its own: import them from there"
)
_SHARE = "Return the value, or pass what has to be first as an argument: a task waits for it"
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
#: Where such a call ends.
_ENDS = {"get_client", "get_worker", "default_client", "rejoin"}


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
            called = called or frame.f_code.co_qualname.split(".")[0]
            ended = frame.f_code.co_name
        else:
            # A function of the caller's, or one that it was given back to: a later call counts.
            called = ended = ""
        trace = trace.tb_next
    instead = _INSTEAD.get(called)
    if instead is None:
        return ""
    if ended not in _ENDS and "not properly initialized" not in message_of(error):
        return ""  # it got further: a client of `distributed` is there
    return (
        f"({called}() is distributed's, and this task runs on a worker of Spanwise, not of "
        f"distributed. {instead}.)"
    )
