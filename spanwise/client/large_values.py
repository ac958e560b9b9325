"""Says what large values are, as the users know them who made them: of what type, and how long.

Nothing of numpy or pandas is imported: whoever has such a value has imported them.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from spanwise.client.pure_keys import is_imported
from spanwise.graph.packs import SMALL_TYPES, weight_of

#: What never takes much.
_TINY = SMALL_TYPES - {tuple}
#: What says of a name that it is one of the module's variables: with these a function is sent, as
#: cloudpickle finds them. (``co_names`` has attributes, too.)
_OF_GLOBALS = frozenset({"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL"})


def type_text(kind: type) -> str:
    """The name of a type as users write it: ``numpy.ndarray``, ``pandas.DataFrame``, ``bytes``."""
    name, module = kind.__qualname__, kind.__module__
    if "<locals>" in name:
        return kind.__name__
    if module in ("builtins", "__main__"):
        return name
    package = module.partition(".")[0]
    # (pandas.core.frame.DataFrame is imported from pandas)
    is_public = getattr(sys.modules.get(package), name, None) is kind
    return f"{package if is_public else module}.{name}"


def own_weight(value: Any) -> int:
    """About how many bytes a value takes, 1 at least: its own code may not say."""
    try:
        return max(1, weight_of(value))
    except Exception:  # noqa: BLE001 (code of others: the warning tells less)
        return 1


def shares_of(values: Sequence[Any], nbytes: int) -> list[float]:
    """How many of the bytes that several values were sent in are whose.

    Texts, bytes and arrays say it. Of other objects it is a guess what they take alone, so they
    have what is left.
    """
    weights = [0 if type(value) in _TINY else own_weight(value) for value in values]
    guessed = [not _tells_bytes(value) for value in values]
    told = sum(each for each, is_guess in zip(weights, guessed, strict=True) if not is_guess)
    rest = sum(weights) - told
    if rest == 0:
        return [each * nbytes / max(1, told) for each in weights]
    scale = max(0, nbytes - told) / rest
    return [
        each * scale if is_guess else float(each)
        for each, is_guess in zip(weights, guessed, strict=True)
    ]


def _tells_bytes(value: Any) -> bool:
    kind = type(value)
    return kind in _TINY or kind in (str, bytes, bytearray) or hasattr(kind, "strides")


def what_is(value: Any) -> str:
    """A value with its article: ``a numpy.ndarray (1,000 × 3 × float64)``."""
    if type(value) in (bytes, str):
        return f"{type_text(type(value))} of length {len(value):,}"
    name, extent = with_article(type_text(type(value))), extent_of(value)
    return f"{name} ({extent})" if extent else name


def with_article(name: str) -> str:
    """``a numpy.ndarray``, ``an Image``."""
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def extent_of(value: Any) -> str:
    """Its shape and type of items, or its length; empty: it has none."""
    try:
        shape = getattr(value, "shape", None)
        if type(shape) is tuple and shape and all(isinstance(each, int) for each in shape):
            sides = [f"{each:,}" for each in shape]
            item = _item_text(value)
            if item:
                return " × ".join([*sides, item])
            if len(sides) == 2:
                return f"{sides[0]} rows × {sides[1]} columns"
            return " × ".join(sides)
        return f"length {len(value):,}"
    except Exception:  # noqa: BLE001 (code of others: the warning tells less)
        return ""


def _item_text(value: Any) -> str:
    # (of the class: a table may have a column of that name)
    if not hasattr(type(value), "dtype"):
        return ""
    return str(getattr(value.dtype, "name", value.dtype))


def whole_of(value: Any) -> Any:
    """The array of which a value is a view; else the value."""
    while hasattr(type(value), "strides") and hasattr(type(value), "base"):
        base = value.base
        if not hasattr(type(base), "strides"):
            break
        value = base
    return value


def is_cut_from(part: Any, whole: Any) -> bool:
    """Whether a view has the order and the items of its array, so that this is what users know.

    They may have given it another shape before it was cut.
    """
    return bool(
        part.ndim == whole.ndim and part.dtype == whole.dtype and part.strides == whole.strides
    )


def heaviest_within(
    function: Callable[..., Any], keywords: dict[str, Any], nbytes: int
) -> tuple[str, Any, int]:
    """What is sent with a function: which of it takes most, that value, and about how many bytes.

    The text follows on "the function f with ": "its variable x".

    Parameters
    ----------
    nbytes
        So many were sent. What says that it has more went in another way, as a Dask array does,
        whose graph is sent. Of lists and the like, which take more than is sent of them, it is a
        guess what they take.
    """
    best: tuple[str, Any, int] = ("", None, 0)
    for where, value in _sent_with(function, keywords):
        weight = own_weight(value)
        if weight > nbytes and _says_bytes(value):
            continue
        weight = min(weight, nbytes)
        if weight > best[2]:
            best = (where, value, weight)
    return best


def _says_bytes(value: Any) -> bool:
    try:
        return isinstance(value, (bytes, bytearray, str)) or type(value.nbytes) is int
    except Exception:  # noqa: BLE001 (code of others: the warning tells less)
        return False


def _sent_with(function: Callable[..., Any], keywords: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in keywords.items():
        yield f"its keyword argument {name}", value
    if type(function) is partial:
        for value in function.args:
            yield "an argument that partial() gives it", value
        for name, value in function.keywords.items():
            yield f"its keyword argument {name}", value
        yield from _sent_with(function.func, {})
    elif type(function) is MethodType:
        yield "the object whose method it is", function.__self__
        yield from _sent_with(function.__func__, {})
    elif type(function) is FunctionType and not is_imported(function):
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                yield f"its variable {name}", cell.cell_contents
            except ValueError:  # (it has no value yet)
                continue
        for name in dict.fromkeys(_global_names(code)):
            if name in function.__globals__:
                yield f"the variable {name}", function.__globals__[name]
        defaults = function.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
        for name, value in (
            *zip(names, defaults, strict=False),
            *(function.__kwdefaults__ or {}).items(),
        ):
            yield f"the default of its argument {name}", value


def _global_names(code: CodeType) -> Iterator[str]:
    """Of the code of a function, and of what is written within it."""
    for each in dis.get_instructions(code):
        if each.opname in _OF_GLOBALS:
            yield each.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)
