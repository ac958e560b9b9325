"""How a cluster and a local observation show themselves in a notebook."""

from __future__ import annotations

import json
from collections.abc import Sequence

from spanwise.processes.this_process import kernel_id
from spanwise.shown_text import markup_text

#: JupyterLab runs a command when an element with these attributes is clicked.
COMMAND = "spanwise:open-layout"


def cluster_html(
    cluster_id: str | None, name: str, state: str, facts: list[str], problem: str = ""
) -> str:
    """Name, state and facts; a button for the panels if there is a cluster; problems."""
    button = ""
    if cluster_id is not None:
        # The page may not have heard of the cluster yet when the button is clicked.
        kernel = kernel_id()
        known = {"cluster": cluster_id} | ({"kernel": kernel} if kernel else {})
        arguments = markup_text(json.dumps(known))
        button = (
            '<div style="margin-top: 6px">'
            '<button type="button" class="jp-mod-styled jp-mod-accept" '
            f'data-commandlinker-command="{COMMAND}" data-commandlinker-args="{arguments}">'
            "Open the panels</button></div>"
        )
    told = " · ".join(map(markup_text, facts))
    said = f'<div style="margin-top: 4px">{markup_text(problem)}</div>' if problem else ""
    return (
        '<div class="sw-Client" style="padding: 4px 0; line-height: 1.6">'
        f"<div><strong>{markup_text(name)}</strong> "
        f'<span style="color: var(--jp-ui-font-color2)">{markup_text(state)}</span></div>'
        f'<div style="font-variant-numeric: tabular-nums">{told}</div>'
        f"{button}{said}</div>"
    )


def table_html(heading: str, rows: Sequence[Sequence[str]], after: Sequence[str] = ()) -> str:
    """A table of texts, the first column to the left; what is not a name never breaks."""
    lines = [f"<div>{markup_text(heading)}</div>"]
    if rows:
        figure = '<td style="text-align: right; white-space: nowrap">'
        body = "".join(
            f'<tr><td style="text-align: left; overflow-wrap: anywhere">{markup_text(name)}</td>'
            + "".join(f"{figure}{markup_text(each)}</td>" for each in figures)
            + "</tr>"
            for name, *figures in rows
        )
        lines.append(f"<table><tbody>{body}</tbody></table>")
    lines += [f"<div>{markup_text(line)}</div>" for line in after]
    return "".join(lines)
