"""How the methods of a class are called in the errors that Python makes of wrong arguments."""

from __future__ import annotations

from types import FunctionType


def name_methods(kind: type, name: str) -> None:
    """Name methods by the class that users know, and not by where they are written.

    ``TypeError: MeasuredMethods.spans() takes …`` would name a class that nobody has made.

    Parameters
    ----------
    kind
        The class; of its bases those of Spanwise count too, which are mixed in here alone.
    name
        What users call it.
    """
    for each in kind.__mro__:
        if each.__module__.partition(".")[0] != __name__.partition(".")[0]:
            continue
        for attribute, value in vars(each).items():
            if isinstance(value, FunctionType):
                value.__qualname__ = f"{name}.{attribute}"
