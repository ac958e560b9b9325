"""Notices for the user that nobody asked for: from threads, and from the start of a cluster."""

from __future__ import annotations

import sys
import warnings


def tell(sentence: str) -> None:
    """Show the user a ``RuntimeWarning``, each time that it is called.

    Python's own filter shows the same sentence from the same place once only, though what it
    tells of has happened again. Filters that ignore warnings are followed. Where warnings are
    errors, the sentence goes to standard error: it is told by threads that must go on.
    """
    caller = sys._getframe(1)
    try:
        warnings.warn_explicit(
            sentence,
            RuntimeWarning,
            caller.f_code.co_filename,
            caller.f_lineno,
            caller.f_globals["__name__"],
            registry={},
        )
    except RuntimeWarning:
        sys.stderr.write(f"{sentence}\n")
