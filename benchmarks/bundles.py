"""TypeScript parts of the benchmarks, bundled and run by the Node that the project ships."""

from __future__ import annotations

import subprocess
from pathlib import Path

from spanwise.processes.node import find_node

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent


def node_command(source: str) -> list[str]:
    """Bundle a TypeScript file beside this one and give the command that runs it."""
    bundle = CHECKOUT / ".build" / source.replace(".ts", ".mjs")
    bundler = CHECKOUT / "node_modules" / "esbuild" / "bin" / "esbuild"
    if not bundler.exists():
        raise SystemExit(
            f"{bundler} is missing: run `bash scripts/test lint` once; it installs it."
        )
    subprocess.run(
        [
            str(bundler),
            str(HERE / source),
            "--bundle",
            "--platform=node",
            "--format=esm",
            "--external:@playwright/test",
            "--external:piscina",
            "--log-level=warning",
            f"--outfile={bundle}",
        ],
        check=True,
        cwd=CHECKOUT,
    )
    return [find_node(), "--expose-gc", str(bundle)]
