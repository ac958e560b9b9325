"""Print what the wheel asks pip for, a line each: list_requirements.py [--oldest] [EXTRA…].

With --oldest the lowest version that is allowed stands for each requirement of the project
and of JupyterLab. What only its tests need stays as it is.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The packages of the extra `test` in which Spanwise runs.
PROGRAMS = frozenset({"jupyterlab"})


def oldest(requirement: str) -> str:
    """Return `name>=1.2,<3` as `name==1.2`."""
    name, bound = re.fullmatch(r"([^<>=!~]+)>=([\d.]+)(?:,.*)?", requirement).groups()
    return f"{name}=={bound}"


def main() -> None:
    """List them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oldest", action="store_true")
    parser.add_argument("extras", nargs="*")
    asked = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extra in [None, *asked.extras]:
        of_extra = project["optional-dependencies"].get(extra, [])
        for each in project["dependencies"] if extra is None else of_extra:
            name = re.split(r"[<>=!~\[]", each)[0]
            is_ours = extra != "test" or name in PROGRAMS
            print(oldest(each) if asked.oldest and is_ours else each)


if __name__ == "__main__":
    main()
