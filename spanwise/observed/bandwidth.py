"""How fast workers got results of each other, from the answer of view ``transfers``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def bandwidth_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The bandwidths of the answer; see :meth:`spanwise.Client.bandwidth`.

    Raises
    ------
    LookupError, TypeError, ValueError
        The answer is none.
    """
    total, pairs, types = answer["total"], answer["pairs"], answer["types"]
    called = {row["worker"]: row["address"] or row["name"] for row in answer["workers"]}
    columns = [pairs[name] for name in ("from", "to", *_FIGURES)]
    return {
        "total": _rate(total["largeBytes"], total["largeSeconds"]),
        "types": {
            _typename(name): rate
            for name, nbytes, seconds in zip(
                *(types[column] for column in ("type", "largeBytes", "largeSeconds")), strict=True
            )
            if (rate := _rate(nbytes, seconds)) is not None
        },
        "workers": [
            {
                # (upstream's picture has them the other way round)
                "source": called[source],
                "destination": called[destination],
                "bandwidth": _rate(large_bytes, seconds),
                "bytes": int(nbytes),
                "count": count,
            }
            for source, destination, count, nbytes, large_bytes, seconds in zip(
                *columns, strict=True
            )
        ],
    }


_FIGURES = ("count", "bytes", "largeBytes", "largeSeconds")


def _rate(nbytes: float, seconds: float) -> float | None:
    return nbytes / seconds if seconds > 0 else None


def _typename(name: str) -> str:
    """A class by its ``module:qualified name``, as Dask names it."""
    module, _, qualified = name.partition(":")
    plain = qualified.rpartition(".")[2]
    return plain if module in ("", "builtins") else f"{module}.{plain}"
