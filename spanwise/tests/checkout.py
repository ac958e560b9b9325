"""Where the checkout is, for tests that read its files.

From the installed wheel (``scripts/test``) the checkout is named by
SPANWISE_CHECKOUT; otherwise the tests lie in it.
"""

from __future__ import annotations

import os
from pathlib import Path

_NAMED = os.environ.get("SPANWISE_CHECKOUT")

CHECKOUT = Path(_NAMED) if _NAMED else Path(__file__).parents[2]
