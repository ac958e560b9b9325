"""Copy the first look into ``playground``, where running it changes no file of git.

A copy that its user has changed stays as it is. One that was only run is made anew when the
example is another: until then it keeps its outputs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

#: The notebook, and the module of which it imports.
NAMES = ("first-look.ipynb", "first_look.py")


def fill(examples: Path, playground: Path, originals: Path) -> str:
    """Copy what is not there, and what is old; return in a sentence how they stand.

    Parameters
    ----------
    originals
        Where the examples are kept as they were copied: what differs was written by the user.
    """
    playground.mkdir(parents=True, exist_ok=True)
    originals.mkdir(parents=True, exist_ok=True)
    folders = (examples, playground, originals)
    written = {name: [_written(folder / name) for folder in folders] for name in NAMES}
    # One of them may need the other as it is.
    has_changes = any(
        copied not in (None, example, original) for example, copied, original in written.values()
    )
    is_old = any(
        example not in (copied, original) for example, copied, original in written.values()
    )
    for name, (example, copied, _) in written.items():
        if copied is None or (copied != example and not has_changes):
            _copy(examples / name, playground / name)
        elif copied != example:
            continue
        _copy(examples / name, originals / name)
    if has_changes and is_old:
        return (
            f"{playground.name} has what you have changed there, and stays as it is: "
            f"the first look in {examples.name} is another by now"
        )
    return f"{playground.name} has the notebook and its module"


def _written(file: Path) -> object:
    """Return what a person wrote in a file: of a notebook its cells without what they printed."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return None
    if file.suffix == ".ipynb":
        try:
            return [
                (cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]
            ]
        except (ValueError, KeyError, TypeError):
            return text
    return text


def _copy(source: Path, place: Path) -> None:
    """Copy as a whole: half a copy would be taken for what the user has changed."""
    part = place.with_name(f"{place.name}.part")
    part.write_bytes(source.read_bytes())
    part.replace(place)


if __name__ == "__main__":
    checkout = Path(sys.argv[1])
    made = checkout / ".build" / "playground"
    print(f"   {fill(checkout / 'examples', checkout / 'playground', made)}")
