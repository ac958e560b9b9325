"""Makes texts safely of errors that users' code raises.

Its ``__str__`` may raise, exit or give 200 MB, and opening a pickle runs any of it. None of
that may end a worker or the client, or fail another task.
"""

from __future__ import annotations

import dis

#: Longer messages are cut in the middle.
MESSAGE_LIMIT = 10_000

_RAISE = dis.opmap["RAISE_VARARGS"]


def cut(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """At most about `limit` characters of a text, and how many are left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - limit} characters …\n{text[-half:]}"


def type_name(value: object) -> str:
    """The name of a value's type, whatever its metaclass does."""
    return type.__dict__["__name__"].__get__(type(value))  # type: ignore[no-any-return]


def message_of(error: BaseException) -> str:
    """The message of an exception, or why it has none."""
    try:
        text = str(error)
    except BaseException as other:  # noqa: BLE001 (said in the text)
        return f"(its message raised {type_name(other)})"
    return cut(text if type(text) is str else str.__str__(text))


def said(error: BaseException) -> str:
    """Type and message of an exception."""
    message = message_of(error)
    return f"{type_name(error)}: {message}" if message else type_name(error)


def is_ctrl_c(error: BaseException) -> bool:
    """Whether Ctrl-C was pressed, rather than KeyboardInterrupt raised by code.

    The signal interrupts anywhere; code says `raise`.
    """
    if not isinstance(error, KeyboardInterrupt):
        return False
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code.co_code
    return not 0 <= trace.tb_lasti < len(code) or code[trace.tb_lasti] != _RAISE
