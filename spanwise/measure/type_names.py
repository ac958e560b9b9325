"""Names of the classes of results, as the scheduler's log has them."""

from __future__ import annotations

from typing import Any

from spanwise.measure.names import Names

#: Classes that are remembered; they live as long.
_CLASSES = 1_000

_MODULE: Any = type.__dict__["__module__"]
_QUALIFIED: Any = type.__dict__["__qualname__"]


class TypeNames:
    """Class → id of its name, ``module:qualified name``.

    Parameters
    ----------
    names
        The worker's dictionary.

    Attributes
    ----------
    ids
        Of the classes that were met: one lookup for each result.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self.ids: dict[type, int] = {}

    def meet(self, kind: type) -> int:
        """The id of a class that is not in `ids`."""
        if len(self.ids) >= _CLASSES:
            self.ids.clear()
        found = self.ids[kind] = self._names.id_of(name_of_type(kind))
        return found


def name_of_type(kind: type) -> str:
    """``module:qualified name``, whatever its metaclass does."""
    try:
        module = _MODULE.__get__(kind)
    except AttributeError:  # a class may have none
        module = ""
    # (nor need it be a text: a class may have a property of this name)
    return f"{module if type(module) is str else ''}:{_QUALIFIED.__get__(kind)}"
