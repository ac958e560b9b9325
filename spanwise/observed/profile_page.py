"""The page of a profile: what :class:`Page` shows of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import localtime, strftime
from typing import Any

from spanwise.observed.page_file import Page, WithPage, checked_path, checked_plot
from spanwise.observed.profiles import Profile

#: Where ``plot="save"`` writes it.
PROFILE_FILE = "dask-profile.html"


def profile_section(profile: Profile, title: str) -> dict[str, Any]:
    """A section of a page; it says why it is empty if it is."""
    return {
        "kind": "profile",
        "title": title,
        "missing": profile.missing,
        "result": profile.answer,
    }


def profile_page(
    profile: Profile, source: str, asked: Mapping[str, Any], title: str = "Functions of tasks"
) -> Page:
    """The page of one profile.

    Parameters
    ----------
    source
        Name of the cluster or of the observation.
    asked
        What the profile is of; None: all.
    title
        Of its section.
    """
    facts = [["Of", source], ["Written", strftime("%Y-%m-%d %H:%M:%S", localtime())]]
    facts += [[name, _text(value)] for name, value in asked.items() if value is not None]
    return Page(
        {
            "title": "Profile",
            "facts": facts,
            "sections": [profile_section(profile, title)],
        }
    )


def check_page(plot: Any, filename: Any) -> None:
    """Raise at once what :func:`with_page` would raise when all has been asked.

    Raises
    ------
    TypeError, ValueError, OSError
    """
    path = filename or (PROFILE_FILE if checked_plot(plot) == "save" else None)
    if path:
        checked_path(path)


def with_page(
    found: Any,
    profile: Profile,
    source: str,
    asked: Mapping[str, Any],
    plot: bool | str,
    filename: str | Path | None,
    title: str = "Functions of tasks",
) -> Any:
    """What `profile` of a client or an observation gives: `found`, and the page if one is wanted.

    With `filename`, or ``plot="save"``, the page is written.
    """
    path = filename or (PROFILE_FILE if plot == "save" else None)
    if not (plot or path):
        return found
    page = profile_page(profile, source, asked, title)
    if path:
        page.save(path)
    return WithPage((found, page))


def _text(value: Any) -> str:
    # A span, by its object or its path; several addresses; else it is one word.
    path = getattr(value, "name", value)
    return " › ".join(map(str, path)) if isinstance(path, (list, tuple)) else str(path)
