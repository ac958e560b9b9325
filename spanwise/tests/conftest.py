"""What every test of the Python side may use.

The same tests run in two ways: from a checkout, and from the installed wheel
(``scripts/test``), where files of the checkout are found by SPANWISE_CHECKOUT.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["pytest_jupyter.jupyter_server"]


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the folder of the checkout; skip where there is none."""
    named = os.environ.get("SPANWISE_CHECKOUT")
    folder = Path(named) if named else Path(__file__).parents[2]
    if not (folder / "package.json").exists():
        pytest.skip("needs files of the checkout: set SPANWISE_CHECKOUT to its folder")
    return folder
