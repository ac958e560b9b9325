"""TypeScript of the checkout, bundled into one file that Node can run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from spanwise.processes.node import find_node
from spanwise.tests.checkout import CHECKOUT

LIMIT_SECONDS = 60.0


def bundle(outfile: Path, **options: Any) -> Path:
    """Bundle a program for Node.

    Parameters
    ----------
    outfile
        Where it is written.
    **options
        What to bundle and how, by esbuild's own names; paths count from the checkout.

    Returns
    -------
    ``outfile``.
    """
    said = json.dumps({**options, "bundle": True, "platform": "node", "outfile": str(outfile)})
    subprocess.run(
        [find_node(), "-e", f"require('esbuild').buildSync({said})"],
        cwd=CHECKOUT,
        check=True,
        timeout=LIMIT_SECONDS,
    )
    return outfile
