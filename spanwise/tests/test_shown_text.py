"""Texts of users that hold characters nobody sees, as Python shows them."""

import ast
import json
from pathlib import Path

import pytest

import spanwise
from spanwise.client.html import future_html
from spanwise.diagnostics.counts import printable
from spanwise.observed.fine_table import fine_table
from spanwise.observed.html import cluster_html, table_html
from spanwise.observed.page_file import Page
from spanwise.observed.span_list import one_line
from spanwise.shown_text import markup_text, shown_text
from spanwise.tests.checkout import CHECKOUT

EXAMPLES = json.loads((CHECKOUT / "src/testing/hidden-characters.json").read_text("utf-8"))
TURNED, SHOWN = "load\u202egnp.exe", "load\\u202egnp.exe"


@pytest.mark.parametrize("example", EXAMPLES, ids=[each["what"] for each in EXAMPLES])
def test_what_is_hidden_is_written_out_and_nothing_else(example):
    assert shown_text(example["text"]) == example["shown"]
    assert shown_text(example["shown"]) == example["shown"]


def test_every_character_is_shown_as_it_is_or_written_out_for_both_languages():
    hidden = [code for code in range(0x110000) if shown_text(chr(code)) != chr(code)]
    assert all(
        shown_text(chr(code)) == chr(code).encode("unicode_escape").decode() for code in hidden
    )
    fillers = (0x115F, 0x1160, 0x3164, 0xFFA0)
    assert not any(chr(code).isalnum() for code in hidden if code not in fillers)


def test_nothing_hidden_is_in_what_notebooks_show():
    shown = [
        table_html(TURNED, [(TURNED, TURNED)], [TURNED]),
        cluster_html(None, TURNED, TURNED, [TURNED], TURNED),
        future_html(f"{TURNED}-1", "finished", None),
        markup_text(TURNED),
    ]
    assert not any("\u202e" in each for each in shown)
    assert all(SHOWN in each for each in shown)


def test_nothing_hidden_is_in_what_terminals_show():
    table = fine_table(1, 1, {TURNED: 1.0}, "seconds", notes=[TURNED])
    assert table.as_text().count(SHOWN) == 2
    assert one_line(f"{TURNED}\n\x1b[2Kdone") == f"{SHOWN} \\x1b[2Kdone"
    assert printable(f"{TURNED}\x1b[2K") == f"{SHOWN}\\x1b[2K"


def test_emoji_stay_whole_in_what_terminals_show():
    emoji = "\N{WOMAN}\u200d\N{PERSONAL COMPUTER} \N{HEAVY BLACK HEART}\ufe0f"
    assert one_line(f"{emoji}\n2") == f"{emoji} 2"
    assert printable(f"{emoji}\n2") == f"{emoji}\N{MIDDLE DOT}2"


def test_nothing_hidden_is_in_the_title_of_a_page():
    page = Page({"title": TURNED})
    assert f"<title>{SHOWN}</title>" in page.to_html()
    assert f'<iframe title="{SHOWN}"' in page._repr_html_()


def test_texts_become_markup_in_one_place():
    """Else a text of a user could be shown without its hidden characters."""
    folder = Path(spanwise.__file__).parent
    importing = {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*.py")
        if "tests" not in file.relative_to(folder).parts
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "html"
    }
    # (a page within a page is markup already)
    assert importing == {"shown_text.py", "observed/page_file.py"}
