"""What tests import with jsonschema, but for its grammar of addresses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_MODULE = "rfc3987_syntax"


@contextmanager
def without_address_grammar() -> Iterator[None]:
    """Have jsonschema, which Jupyter's servers import, not know what an address is.

    It knows that by a grammar that takes 2 s of a core to compile, and does without where the
    module is missing.
    """
    if _MODULE in sys.modules:
        yield
        return
    sys.modules[_MODULE] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[_MODULE]  # (a program may look at all modules)
