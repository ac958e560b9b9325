"""How the client treats an observer's answers, without an observer."""

from __future__ import annotations

from math import inf, nan
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.client.observed import SessionLog
from spanwise.observed.questions import FineKey, FineMetrics, Questions

NAPS: dict[FineKey, float] = {
    ("execute", "nap", "thread-cpu", "seconds"): 0.004,
    ("execute", "nap", "thread-noncpu", "seconds"): 0.996,
    ("execute", "nap", "thread-noncpu", "count"): 2.0,
    ("noncpu", "nap", "core", "seconds"): 0.1,
    ("noncpu", "nap", "gil", "seconds"): 0.2,
    ("noncpu", "nap", "blocked", "seconds"): 0.696,
    ("background", "nap", "transfer", "seconds"): 0.3,
    ("gather-dep", "", "network", "seconds"): 0.3,
    ("execute", "N/A", "idle or other spans", "seconds"): 5.0,
    ("idle", "N/A", "scheduler", "seconds"): 5.0,
}


def test_no_second_is_counted_twice() -> None:
    metrics = FineMetrics(NAPS, {})
    assert metrics.by_function() == {"nap": pytest.approx(0.004 + 0.996 + 0.3)}
    assert metrics.by_activity() == {
        "thread-cpu": pytest.approx(0.004),
        "thread-noncpu": pytest.approx(0.996),
        "transfer": pytest.approx(0.3),
    }
    assert metrics.by_function("count") == {"nap": 2.0}


def test_a_sum_of_one_context_is_of_its_entries_alone() -> None:
    metrics = FineMetrics(NAPS, {})
    assert metrics.by_activity(context="execute") == {"thread-cpu": 0.004, "thread-noncpu": 0.996}
    assert metrics.by_function(context="execute") == {"nap": pytest.approx(1.0)}
    assert metrics.by_activity("count", context="execute") == {"thread-noncpu": 2.0}
    assert metrics.by_activity(context="background") == {"transfer": 0.3}
    assert metrics.by_activity(context="noncpu") == {"core": 0.1, "gil": 0.2, "blocked": 0.696}
    assert metrics.by_activity(context="idle") == {"scheduler": 5.0}
    assert metrics.by_activity(context="no such") == {}


def test_sums_are_in_the_unit_that_was_asked_for() -> None:
    rows: dict[FineKey, float] = {("execute", "f", "rows read", "rows"): 3.0}
    answer = {"entries": [[*key, value] for key, value in {**NAPS, **rows}.items()]}

    class Answered(Questions):
        def query(self, *_: Any) -> dict[str, Any]:
            return answer

    log: Any = SimpleNamespace(flush=lambda: 0, wall_epoch=0.0)
    ask = Answered(log, lambda: None).fine_metrics
    assert ask(unit="rows").by_activity() == {"rows read": 3.0}
    assert ask(unit="rows").by_function() == {"f": 3.0}
    assert ask(unit="rows").by_activity("seconds") == {}
    assert ask(unit="count").by_function(context="execute") == {"nap": 2.0}
    assert ask().by_activity() == FineMetrics(NAPS, {}).by_activity()


def test_what_workers_did_outside_tasks_has_a_name() -> None:
    metrics = FineMetrics({**NAPS, ("get-data", "", "network", "seconds"): 4.0}, {})
    assert metrics.by_function() == {"nap": pytest.approx(1.3), "outside tasks": 4.0}
    assert metrics.by_function(context="get-data") == {"outside tasks": 4.0}


def test_fine_metrics_are_shown_as_a_short_table() -> None:
    assert repr(FineMetrics(NAPS, {"notes": ["One\nwas lost."]})).splitlines() == [
        "10 fine metrics of 1 function (activity, thread time, share of it):",
        "  thread-noncpu  0.996 s  99.6 %",
        "  thread-cpu     0.004 s   0.4 %",
        "Beside these: threads were idle 5.000 s, behind other work 0.300 s",
        "Ask .by_function(), .by_activity('count') or .to_pandas()",
        "Note: One was lost.",
    ]
    # In a notebook no line breaks within a figure, and text stays text.
    page = FineMetrics({("execute", "f", "<b>", "seconds"): 0.25}, {})._repr_html_()
    assert "<td" in page and ">0.250 s</td>" in page and ">100.0 %</td>" in page
    assert "&lt;b&gt;</td>" in page and "<b>" not in page and "by_function()" in page
    # Of a Dask cluster idle time is in its own context alone.
    told = {
        ("idle", "N/A", "scheduler", "seconds"): 2.0,
        ("execute", "f", "compute", "seconds"): 1.0,
    }
    assert "threads were idle 2.000 s" in repr(FineMetrics(told, {}))
    assert repr(FineMetrics({}, {})) == "0 fine metrics"
    # Amounts make no whole, and what tasks measure may be called anything.
    amounts = {("execute", "f", f"read-{n}", "bytes"): n * 2.0**20 for n in range(65)}
    table = repr(FineMetrics(amounts, {})).splitlines()
    assert table[:2] == [
        "65 fine metrics of 1 function (activity, amount):",
        "  read-64  64.00 MiB",
    ]
    assert table[61] == "  … and 4 more with less: .to_pandas() has all"
    assert len(FineMetrics(amounts, {}).to_pandas()) == 65
    own: dict[FineKey, float] = {
        ("execute", "f", ("a", 1), "rows"): 2.0,
        ("execute", "g", "x\n" * 80, "rows"): nan,
        ("execute", "g", "less", "bytes"): inf,
    }
    shown = repr(FineMetrics(own, {}))
    assert "  ('a', 1)" in repr(FineMetrics(dict([*own.items()][:1]), {}))
    assert "inf" in shown and max(map(len, shown.splitlines())) < 80
    nothing = {("execute", "f", "none", "seconds"): -1.0}
    assert "none  -1.000 s" in repr(FineMetrics(nothing, {}))


def test_what_tasks_told_beyond_their_runs_is_not_behind_other_work() -> None:
    told: dict[FineKey, float] = {
        ("execute", "f", "thread-cpu", "seconds"): 1.0,
        ("user", "f", "wait for licence", "seconds"): 100.0,
    }
    own = "Beside these: told by tasks beyond their runs 100.000 s"
    assert repr(FineMetrics(told, {})).splitlines()[2:] == [
        own,
        "Ask .by_function() or .to_pandas()",
    ]
    sent: dict[FineKey, float] = {**told, ("get-data", "", "network", "seconds"): 2.0}
    assert "Beside these: behind other work 2.000 s, told" in repr(FineMetrics(sent, {}))
    # Where no function has anything there is none to ask for.
    alone = dict([*told.items()][1:])
    assert repr(FineMetrics(alone, {})).splitlines() == ["1 fine metric", own]
    assert repr(FineMetrics({("execute", "f", "a", "seconds"): 0.0}, {})) == "1 fine metric"


def test_what_was_not_there_is_not_shown_as_less_than_nothing() -> None:
    """Sums of the same seconds in another order differ by what they are rounded by."""
    told: dict[FineKey, float] = {
        ("execute", "f", "a", "seconds"): 0.1,
        ("user", "f", "a", "seconds"): 0.2,
        ("execute", "f", "b", "seconds"): 0.2,
    }
    assert 0.1 + 0.2 + 0.2 - 0.2 - (0.1 + 0.2) < 0
    assert "behind other work" not in repr(FineMetrics(told, {}))
    # What a task measures may be less than nothing, but not by less than is shown.
    own: dict[FineKey, float] = {
        ("execute", "f", "spun", "seconds"): 1.0,
        ("execute", "f", "less", "seconds"): -0.0004,
        ("execute", "f", "drift", "metres"): -0.0004,
    }
    shown = repr(FineMetrics(own, {}))
    assert "  less  0.000 s    0.0 %" in shown and "-" not in shown
    drift = {key: value for key, value in own.items() if key[3] == "metres"}
    assert "  drift  0.000 metres" in repr(FineMetrics(drift, {}))
    assert "-0.001 s" in repr(FineMetrics({**own, ("user", "f", "x", "seconds"): -0.0006}, {}))


@given(
    st.dictionaries(
        st.tuples(
            st.sampled_from(["execute", "background", "noncpu", "mine"]),
            st.sampled_from(["f", "g"]),
            st.sampled_from(["thread-cpu", "thread-noncpu", "core", "gil"]),
            st.sampled_from(["seconds", "bytes"]),
        ),
        st.integers(0, 1000).map(float),
    )
)
def test_sums_are_those_of_all_contexts_but_the_dividing_one(entries: dict[FineKey, float]) -> None:
    metrics = FineMetrics(entries, {})
    for unit in ("seconds", "bytes"):
        whole = sum(v for key, v in entries.items() if key[3] == unit and key[0] != "noncpu")
        assert sum(metrics.by_function(unit).values()) == whole
        assert sum(metrics.by_activity(unit).values()) == whole


def test_a_note_reaches_code_that_has_no_name() -> None:
    session: Any = SimpleNamespace(
        cluster_id="c",
        wall_epoch=0.0,
        dead=None,
        ask=lambda *_, **__: SimpleNamespace(fields={"note": "the log has gaps", "seq": 3}),
    )
    with pytest.warns(RuntimeWarning, match="the log has gaps"):
        exec("log.flush()", {"log": SessionLog(session)})  # noqa: S102


def test_labels_that_are_no_texts_and_notes_reach_the_user() -> None:
    metrics = FineMetrics({("execute", "f", ("a", 1), "rows"): 2.0}, {"notes": ["One was lost."]})
    assert metrics.by_activity("rows") == {("a", 1): 2.0}
    assert metrics.notes == ("One was lost.",) and FineMetrics({}, {}).notes == ()
