"""HTML files that need nothing else: what was measured, gzipped, and the script that shows it.

The script is ``spanwise/node/page.js``, made of ``src/exports``, whose ``content.ts`` describes
what a page may hold.
"""

from __future__ import annotations

import base64
import errno
import gzip
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from spanwise.shown_text import markup_text

_SCRIPT = Path(__file__).parent.parent / "node" / "page.js"
#: Of the frame in which a notebook shows a page.
_FRAME_HEIGHT_PX = 640


def checked_plot(plot: Any) -> bool | str:
    """Return whether a page is wanted, or ``"save"``: it is to be written too.

    Raises
    ------
    TypeError, ValueError
        It is something else: any text would count as True.
    """
    if plot is None or isinstance(plot, (bool, int)) or type(plot).__name__ in ("bool", "bool_"):
        return bool(plot)
    if isinstance(plot, str) and plot == "save":
        return plot
    error = ValueError if isinstance(plot, str) else TypeError
    raise error(f"plot is True, False, or 'save' to write the page too, not {plot!r:.80}")


def checked_path(filename: str | os.PathLike[str]) -> Path:
    """Return where a page will be written; each error names the path as it was given.

    Raises
    ------
    TypeError
        It is no path.
    OSError
        It is a folder, or nothing can be written there.
    """
    if not isinstance(filename, (str, os.PathLike)):
        raise TypeError(f"filename is a path, a text such as 'report.html', not {filename!r:.80}")
    given = os.fspath(filename)
    # (a link stays one)
    file = Path(given).expanduser().resolve()
    wrong: tuple[int, str] | None = None
    if file.is_dir():
        wrong = errno.EISDIR, "This is a folder: filename is the path of a file"
    elif not file.parent.is_dir():
        wrong = errno.ENOENT, "There is no such folder to write a file in"
    elif (not file.exists() or file.is_file()) and not os.access(file.parent, os.W_OK | os.X_OK):
        wrong = errno.EACCES, "Nothing may be written in this folder"
    if wrong is not None:
        raise OSError(*wrong, given)
    return file


class Page:
    """A page: written to a file, or shown by a notebook.

    Parameters
    ----------
    content
        As ``PageContent`` of ``src/exports/content.ts``.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content

    def to_html(self) -> str:
        """The whole page; it asks for nothing, from nobody."""
        script, script_hash = _script()
        # No host may be reached, and no other script runs than this one.
        policy = "; ".join(
            [
                "default-src 'none'",
                f"script-src 'sha256-{script_hash}'",
                "style-src 'unsafe-inline'",
                "img-src data: blob:",
                "base-uri 'none'",
                "form-action 'none'",
            ]
        )
        # Base64 cannot end the element, whatever users' names and code hold.
        text = json.dumps(self.content, allow_nan=False, separators=(",", ":"))
        packed = base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
        title = markup_text(str(self.content["title"])).encode("utf-8", "replace").decode("utf-8")
        return _HTML.format(policy=policy, title=title, packed=packed, script=script)

    def save(self, filename: str | Path) -> None:
        """Write it to a file, in one step: a page that was there stays until this one is whole."""
        file = checked_path(filename)
        # (bytes: the script's hash counts its ends of lines)
        content = self.to_html().encode("utf-8")
        try:
            _write_whole(file, content)
        except OSError as error:
            if error.errno is None:
                raise
            # (the name of the file beside it says nothing to who gave this one)
            raise OSError(error.errno, error.strerror, os.fspath(filename)) from error

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{markup_text(str(self.content["title"]))}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {_FRAME_HEIGHT_PX}px; border: 0" '
            f'srcdoc="{escape(self.to_html())}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page {str(self.content['title'])!r}: to_html(), save(filename)>"


def _write_whole(file: Path, content: bytes) -> None:
    if file.exists() and not file.is_file():
        file.write_bytes(content)  # a pipe
        return
    new = file.with_name(f".{os.getpid()}-{threading.get_ident()}.new")
    try:
        new.write_bytes(content)
        if file.exists():
            shutil.copymode(file, new)
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


class WithPage(tuple[Any, Page]):
    """An answer and the page that draws it; a notebook shows the page."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self[1]._repr_html_()


_HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
</head>
<body>
<main id="page"></main>
<p id="problem" role="alert"></p>
<noscript><p>This file shows its figures by the script that it contains; the browser has \
scripts switched off. In JupyterLab, press Trust HTML above.</p></noscript>
<script type="text/plain" id="content">{packed}</script>
<script>{script}</script>
</body>
</html>
"""


@cache
def _script() -> tuple[str, str]:
    """The page's script, and its hash for the content policy."""
    content = _SCRIPT.read_bytes()
    return content.decode("utf-8"), base64.b64encode(hashlib.sha256(content).digest()).decode()
