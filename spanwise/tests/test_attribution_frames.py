"""Dataframe tasks: rewritten by Dask's optimiser, yet counted where they were written.

Every operation is run as: source written in A, operation in B, follow-up in C, computed
outside. The truth about each task is in its function: the source's belong to A, the
follow-up's to C, what `compute` itself adds to nobody, everything else to B.

The table in docs/attribution.md is made by these tests; after a change of the rules run
``SPANWISE_UPDATE_DOCS=1 pytest spanwise/tests/test_attribution_frames.py``.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from spanwise import span
from spanwise.records.enumerations import ORIGIN_DEFAULT, ORIGIN_INFERRED, ORIGIN_USER
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.packed_run import PackedRun, PartRun

SOURCE = {"make_source", "make_other", "make_meta", "to_string_dtype"}
#: Tasks that `compute` adds: no user code wrote them.
FINAL = {"repartitiontofewer", "finalize-hlgfinalizecompute"}


def make_source(number: int, columns: list[str] | None = None) -> pd.DataFrame:
    n = 20
    frame = pd.DataFrame(
        {
            "k": np.arange(n) % 3,
            "v": np.arange(n) * 1.0 + number,
            "w": np.arange(n) % 2,
            "s": ["a", "b"] * (n // 2),
        },
        index=pd.RangeIndex(number * n, number * n + n),
    )
    return frame if columns is None else frame[columns]


def make_other(number: int) -> pd.DataFrame:
    return pd.DataFrame({"k": [0, 1, 2], "z": [1.0, 2.0, 3.0]})


def follow_up(part: Any) -> Any:
    return part


def own_step(part: Any) -> Any:
    return part


Frame = Any
OPERATIONS: dict[str, Callable[[Frame, Frame], Frame]] = {
    "groupby(k).v.sum()": lambda d, e: d.groupby("k").v.sum(),
    "groupby(k).agg(mean, std, max)": lambda d, e: d.groupby("k").agg(
        {"v": ["mean", "std"], "w": "max"}
    ),
    "groupby(k).apply(f)": lambda d, e: d.groupby("k")[["v"]].apply(
        lambda part: part.sum(), meta={"v": float}
    ),
    "merge(other, on=k)": lambda d, e: d.merge(e, on="k"),
    "join(other)": lambda d, e: d.join(e.set_index("k"), on="k"),
    "set_index(v)": lambda d, e: d.set_index("v"),
    "sort_values(v)": lambda d, e: d.sort_values("v"),
    "shuffle(k)": lambda d, e: d.shuffle("k"),
    "v.rolling(3).mean()": lambda d, e: d.v.rolling(3).mean(),
    "v.shift(1)": lambda d, e: d.v.shift(1),
    "v.cumsum()": lambda d, e: d.v.cumsum(),
    "s.value_counts()": lambda d, e: d.s.value_counts(),
    "drop_duplicates(k)": lambda d, e: d.drop_duplicates(subset=["k"]),
    "filter d[d.v > 3]": lambda d, e: d[d.v > 3],
    "filter isin": lambda d, e: d[d.k.isin([1, 2])],
    "assign(x=d.v * 2)": lambda d, e: d.assign(x=d.v * 2),
    "astype": lambda d, e: d.astype({"k": "int8"}),
    "fillna(0)": lambda d, e: d.fillna(0),
    "rename columns": lambda d, e: d.rename(columns={"v": "u"}),
    "projection [[v, w]]": lambda d, e: d[["v", "w"]] + 0,
    "sum of columns": lambda d, e: d[["v", "w"]].sum(),
    "describe": lambda d, e: d[["v"]].describe(),
    "nlargest(3, v)": lambda d, e: d.nlargest(3, "v"),
    "s.str.upper()": lambda d, e: d.s.str.upper(),
    "map_partitions(f)": lambda d, e: d.map_partitions(own_step),
    "head(5)": lambda d, e: d.head(5, compute=False),
    "loc[3:30]": lambda d, e: d.loc[3:30],
    "repartition(2)": lambda d, e: d.repartition(npartitions=2),
    "concat with itself": lambda d, e: dd.concat([d, d]),
    "v + w arithmetic": lambda d, e: (d.v + d.w) / 2,
}

#: operation → Counter of ("exact" | "inferred" | "wrong" | "none")
_TABLE: dict[str, Counter[str]] = {}


@pytest.fixture
def run() -> Iterator[PackedRun]:
    made = PackedRun()
    with dask.config.set({"scheduler": made.get, "dataframe.shuffle.method": "tasks"}):
        yield made


def truth(each: PartRun) -> tuple[str, ...]:
    if each.name in SOURCE:
        return ("A",)
    if each.name == "follow_up":
        return ("C",)
    return ("B",)


def judge(each: PartRun) -> str:
    if each.name in FINAL and not each.tags:
        return "final"
    if not each.tags:
        return "none"
    if each.origin == ORIGIN_INFERRED:
        return "inferred"
    return "exact" if each.tags == truth(each) else "wrong"


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(run: PackedRun, name: str) -> None:
    with span("A"):
        source = dd.from_map(make_source, range(4), divisions=(0, 20, 40, 60, 79))
        other = dd.from_map(make_other, range(1))
    with span("B"):
        made = OPERATIONS[name](source, other)
    with span("C"):
        made = made.map_partitions(follow_up)
    made.compute()
    verdicts = [(judge(each), each) for each in run.runs]
    _TABLE[name] = Counter(verdict for verdict, _ in verdicts)
    assert not [each for verdict, each in verdicts if verdict == "wrong"]
    assert not [each for verdict, each in verdicts if verdict == "none"]
    assert _TABLE[name]["exact"]


def test_most_are_exact_and_the_table_is_current() -> None:
    if set(_TABLE) != set(OPERATIONS):
        pytest.skip("needs all operations to have run before it")
    total: Counter[str] = Counter()
    for counts in _TABLE.values():
        total.update(counts)
    share = total["exact"] / (total["exact"] + total["inferred"])
    assert share >= 0.6, f"{share:.0%} exact"
    page = CHECKOUT / "docs" / "attribution.md"
    if not page.exists():
        pytest.skip("needs the checkout")
    if not are_locked("dask", "numpy", "pandas"):
        pytest.skip("the page has the figures of Python 3.11 and the locked versions")
    text = page.read_text("utf-8")
    begin, end = "<!-- table: begin -->\n", "<!-- table: end -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    made = head + begin + table(share) + end + tail
    if os.environ.get("SPANWISE_UPDATE_DOCS"):
        page.write_text(made, "utf-8")
    assert page.read_text("utf-8") == made, "run with SPANWISE_UPDATE_DOCS=1 to update it"


def are_locked(*names: str) -> bool:
    """Other versions divide some operations into other tasks: 18 for 20 in one, all exact."""
    lines = (CHECKOUT / "scripts" / "constraints.txt").read_text("utf-8").splitlines()
    return sys.version_info[:2] == (3, 11) and all(
        f"{name}=={version(name)}" in lines for name in names
    )


def table(share: float) -> str:
    lines = [
        "| operation (in span B) | exact | inferred | wrong | without span |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, counts in _TABLE.items():
        cell = name.replace("|", "\\|")
        figures = [counts[verdict] for verdict in ("exact", "inferred", "wrong", "none")]
        lines.append(f"| {cell} | " + " | ".join(map(str, figures)) + " |")
    lines.append(f"\n{share:.1%} of the tasks are exact.\n")
    return "\n".join(lines)


def test_built_in_one_span_computed_in_another(run: PackedRun) -> None:
    """(c)"""
    with span("C"):
        frame = dd.from_map(make_source, range(4), divisions=(0, 20, 40, 60, 79))
        total = frame.groupby("k").v.sum()
    with span("D"):
        total.compute()
    found = {(each.name, each.tags) for each in run.runs if each.name not in FINAL}
    assert found and all(tags == ("C",) for _, tags in found), found
    final = [each for each in run.runs if each.name in FINAL]
    assert all(each.tags == ("D",) for each in final)


def test_persist_fuses_and_keeps_spans(run: PackedRun) -> None:
    with span("A"):
        frame = dd.from_map(make_source, range(4), divisions=(0, 20, 40, 60, 79))
    with span("B"):
        frame = frame.assign(x=frame.v * 2).map_partitions(own_step)
    kept = frame.persist()
    assert any(each.fused for each in run.runs)
    for each in run.runs:
        if each.name == "own_step" or each.name == "mul":
            assert each.tags == ("B",), each
        if each.name == "make_source" and each.fused:
            assert each.tags == ("A",), each
    assert len(kept) == 80


def c_step(part: Any) -> Any:
    return part


#: What a dataframe, and an array, can be handed to.
HANDED_ON: dict[str, Callable[[Frame, Any], list[Any]]] = {
    "to_delayed": lambda d, x: [dask.delayed(c_step)(part) for part in d.to_delayed()],
    "an unfused to_delayed": lambda d, x: [
        dask.delayed(c_step)(part) for part in d.to_delayed(optimize_graph=False)
    ],
    "a delayed call": lambda d, x: [dask.delayed(c_step)(d)],
    "from_delayed": lambda d, x: [dd.from_delayed(d.to_delayed()).map_partitions(c_step)],
    "a bag": lambda d, x: [d.to_bag().map(c_step)],
    "an array": lambda d, x: [d.to_dask_array().map_blocks(c_step)],
    "a compute of several": lambda d, x: [d.map_partitions(c_step), x],
}


@pytest.mark.filterwarnings("ignore:Computing mixed collections")
@pytest.mark.parametrize("to", HANDED_ON)
def test_frames_handed_on_keep_their_spans(run: PackedRun, to: str) -> None:
    with span("A"):
        frame = dd.from_map(make_source, range(3))
    with span("B"):
        frame = frame.map_partitions(own_step).assign(x=frame.v + 1)[["x"]]
        beside = da.ones(4, chunks=2) * 2
    with span("C"):
        made = HANDED_ON[to](frame, beside)
    run.runs.clear()
    with span("D"):
        dask.compute(*made)
    truths = {"make_source": "A", "own_step": "B", "add": "B", "assign": "B", "mul": "B"}
    truths |= {"getitem": "B", "c_step": "C"}
    found = {(each.name, each.tags, each.origin) for each in run.runs if each.name in truths}
    assert {name for name, *_ in found} | {"mul"} == truths.keys()
    for name, tags, origin in found:
        assert tags == (truths[name],) and origin == ORIGIN_USER, name


def test_rerun_of_a_cell_goes_to_its_new_span(run: PackedRun) -> None:
    """Dask keeps one object for equal expressions; the newer run of the same tags wins."""
    frame = None
    for _ in range(2):
        with span("A") as identifier:
            frame = dd.from_map(make_source, range(4), divisions=(0, 20, 40, 60, 79))
            frame = frame.assign(x=1)
        last = identifier
    assert frame is not None
    run.runs.clear()
    frame.compute()
    assert [r.id for r in run.spans.records.values() if r.tag == "A"][-1] == last
    assert all(each.tags == ("A",) for each in run.runs if each.name not in FINAL)


def test_frames_outside_spans_have_none(run: PackedRun) -> None:
    frame = dd.from_map(make_source, range(4), divisions=(0, 20, 40, 60, 79))
    with span("B"):
        frame = frame.map_partitions(own_step)
    frame.compute()
    by_name = {each.name: each for each in run.runs}
    assert by_name["own_step"].tags == ("B",)
    assert by_name["make_source"].tags == () and by_name["make_source"].origin == ORIGIN_DEFAULT
