"""The pieces of a worker that need no process: calls, parts, errors, names, sizes."""

from __future__ import annotations

import itertools
import struct
import sys
import threading
from math import isnan, nan

import pytest
from dask.sizeof import sizeof
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import TaskError
from spanwise.graph.binding import bound
from spanwise.graph.template import Call, Constant, Run, Slot, Template
from spanwise.measure.meters import Metered
from spanwise.measure.names import OWN, Names
from spanwise.measure.sizes import Sizes
from spanwise.records.enumerations import NONE_U32, RUN_FAILED, RUN_MISSING, RUN_OK
from spanwise.worker.errors import CannotOpen, Described, describe
from spanwise.worker.held import placed_arrivals
from spanwise.worker.library import Kept, Library
from spanwise.worker.report import Report
from spanwise.worker.tasks import Arrival

LITERALS = ("a", "b", "c")
VALUES = [0, 1, 2, 3]
slots = st.integers(-len(LITERALS), len(VALUES) - 1)


def called(*args, **kwargs):
    return args, kwargs


@given(st.lists(slots, max_size=5))
def test_plain_slots(order):
    template = Template(called, tuple(order))
    assert bound(template)(LITERALS, VALUES) == template.run(LITERALS, VALUES)


def test_all_pairs_of_plain_slots():
    each = range(-len(LITERALS), len(VALUES))
    for count in range(3):
        for order in itertools.product(each, repeat=count):
            filled = tuple(VALUES[i] if i >= 0 else LITERALS[~i] for i in order)
            assert bound(Template(called, order))(LITERALS, VALUES) == (filled, {})


def test_patterns():
    places = (Slot(-1), Run(1, 3), Call(sum, (Run(0, 4),)), Constant("k"))
    template = Template(called, places=places, keywords={"x": Slot(2)})
    expected = (("a", [1, 2], 6, "k"), {"x": 2})
    assert bound(template)(LITERALS, VALUES) == template.run(LITERALS, VALUES) == expected


stretch = st.tuples(st.floats(0, 10), st.floats(0, 3), st.floats(0, 3))


@given(st.lists(stretch, min_size=1, max_size=6), st.floats(0, 12))
def test_held_parts_follow_one_another_and_lose_nothing(stretches, start):
    """Held parts lie end to end from the start; each transfer's bytes are booked once."""
    arrivals = [
        (Arrival(7, asked, asked + network, asked + network + opening, 0.0), 10.0)
        for asked, network, opening in stretches
    ]
    row = (1, 1, 1, 0, 0, 5, 6, 0, 0.0, 0.0, 0)
    parts = placed_arrivals(arrivals, row, start)
    held = [part for part in parts if part[9]]
    at = 0.0
    for part in held:
        assert abs(part[3] - at) < 1e-9 and part[4] > 0
        at = part[3] + part[4]
    last = max(arrival.opened for arrival, _ in arrivals)
    assert abs(at - max(0.0, last - start)) < 1e-9
    for part in parts:
        if not part[9]:
            assert part[3] + part[4] <= at + 1e-9
    booked = sum(part[7] for part in parts if part[0] == 1)
    assert booked <= 10.0 * len(arrivals) + 1e-9


def test_errors_keep_what_can_be_kept():
    from spanwise.wire import payload

    class Local(Exception):
        pass

    class Unprintable(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    for error, expected in [
        (ValueError(1, "x"), ValueError),
        (Local("here"), Local),
        (SystemExit(2), TaskError),
        (Unprintable(), Unprintable),
    ]:
        described = describe(error)
        opened = payload.loads(described.blob)["exception"]
        assert type(opened).__name__ == expected.__name__
        assert described.type == type(error).__name__
    assert len(describe(ValueError("x" * 10**6)).message) < 11_000


def test_names_are_announced_once_before_their_use():
    names = Names()
    assert names.announcement() == {}
    assert [names.id_of(text) for text in ("a", "b", "a")] == [OWN, OWN + 1, OWN]
    assert names.announcement() == {"firstName": OWN, "names": ["a", "b"]}
    names.id_of("c")
    assert names.announcement() == {"firstName": OWN + 2, "names": ["c"]}
    assert names.announcement() == {}


def test_sizes_never_raise():
    class Broken:
        def __sizeof__(self):
            raise ValueError

    sizes = Sizes()
    assert sizes.of(Broken()) > 0
    assert sizes.of("abc") > 40 and sizes.of([1, 2, 3]) > 80


@pytest.mark.parametrize("said", [-1, float("inf"), float("nan"), 1e300, "many"])
def test_sizes_that_cannot_be_are_not_taken(said):
    class Mistaken:
        pass

    sizeof.register(Mistaken)(lambda value: said)
    assert 0 < Sizes().of(Mistaken()) < 1_000


def test_inline_results_start_at_multiples_of_eight():
    report = Report()
    assert [report.add_inline(bytes(n)) for n in (3, 8, 1)] == [0, 8, 16]


def test_a_report_says_of_each_run_what_belongs_to_it():
    """Rows point into one another: no two of these figures are alike."""
    names, report = Names(), Report()
    labels = ("seen", "read", "told")
    for each in labels:
        # (so that no label's id is its place)
        names.id_of(f"before {each}")
    missing, failed = (7, 70), (8, 80)
    report.add_meters([Metered(3, 31, "seen", "seconds", 1.5, 0.25)])
    report.runs.append((1, 10, RUN_OK, *(0,) * 11))
    report.missing.append((4, 40))
    report.add_missing(*missing, [(5, 50), (6, 60)], now=100.0)
    report.add_meters(
        [Metered(4, 41, "read", "bytes", 8.0, nan), Metered(9, 91, "told", "count", 2.0, nan)]
    )
    report.runs.append((2, 20, RUN_OK, *(0,) * 11))
    report.parts += [("part",), ("other part",)]
    described = [
        Described("OSError", "no such thing", "all of it", b"blob 1"),
        Described("KeyError", "no key", "the rest", b"blob 2"),
    ]
    report.add_error(*failed, described[0], now=200.0)
    report.add_error(9, 90, described[1], now=300.0)
    fields, tables, blobs = report.message(names)
    said = [
        [names_text(names, each) if i in (3, 4) else each for i, each in enumerate(row)]
        for row in zip(*tables["meters"].values(), strict=True)
    ]
    assert said[0] == [0, 3, 31, "seen", "seconds", 1.5, 0.25]
    assert [row[:6] for row in said[1:]] == [
        [2, 4, 41, "read", "bytes", 8.0],
        [2, 9, 91, "told", "count", 2.0],
    ]
    assert tables["missing"] == [(4, 40), (5, 50), (6, 60)]
    assert tables["parts"] == [("part",), ("other part",)]
    assert [row[:2] for row in tables["runs"]] == [(1, 10), missing, (2, 20), failed, (9, 90)]
    for row, status, now, parts in (
        (tables["runs"][1], RUN_MISSING, 100.0, 0),
        (tables["runs"][3], RUN_FAILED, 200.0, 2),
    ):
        # (thread, start, duration, cpu)
        assert row[2:7] == (status, 0, now, 0.0, 0.0)
        # What it waited for is not known.
        assert isnan(row[7]) and isnan(row[8])
        # (nbytes, inlineStart, inlineLength, firstPart, type)
        assert row[9:] == (0.0, 0, NONE_U32, parts, NONE_U32)
    assert [each["row"] for each in fields["errors"]] == [3, 4]
    for each, error in zip(fields["errors"], described, strict=True):
        assert (each["type"], each["message"], each["text"]) == error[:3]
        assert blobs[each["blob"]] == error.blob
    # (blob 0 is of the results)
    assert len(blobs) == 3 and blobs[0] == b""


def test_a_report_is_as_old_as_its_first_run():
    report = Report()
    report.add_missing(1, 1, [], now=100.0)
    report.add_missing(2, 2, [], now=200.0)
    assert report.since == 100.0
    fields, tables, blobs = report.message(Names())
    assert fields == {} and blobs == [] and "meters" not in tables
    report.add_inline(b"result")
    assert report.message(Names())[2] == [b"result"]


def names_text(names, number):
    """The text of a worker's own name."""
    return next(text for text, each in names._ids.items() if each == number)


def test_dropped_blobs_are_a_sentence_when_needed_again():
    with pytest.raises(CannotOpen, match="The function of this task did not reach the worker"):
        Library(Names()).open(3, NONE_U32, 0)


def test_what_is_dropped_between_claim_and_opening_still_opens_and_is_not_kept():
    kept = Kept("The blob", bytes.decode)
    kept.add(3, b"three")
    opened = kept.claim(3)
    kept.drop([3])
    assert opened() == ("three", 5)
    with pytest.raises(CannotOpen, match="The blob did not reach"):
        kept.claim(3)()


def test_of_two_that_open_a_blob_at_once_the_first_one_s_object_is_kept():
    def read(blob):
        if other:
            other.pop()()
        return [blob]

    kept = Kept("The blob", read)
    kept.add(3, b"three")
    # Claimed by two; the second opens it while the first is still reading.
    first, second = kept.claim(3), kept.claim(3)
    meanwhile = []
    other = [lambda: meanwhile.append(second()[0])]
    found, _ = first()
    assert found is meanwhile[0] is kept.opened[3]
    assert kept.claim(3)() == (found, 0)


def test_a_drop_while_a_blob_is_read_leaves_nothing_behind():
    kept = Kept("The blob", lambda blob: kept.drop([3]) or blob)
    kept.add(3, b"three")
    assert kept.claim(3)() == (b"three", 5)
    assert not kept.opened


def test_threads_that_open_what_imports_a_circle_of_modules_do_not_meet_in_it(
    tmp_path, monkeypatch
):
    """As `dask` and `dask._task_spec`: entered at two places at once, one comes out half made."""
    circle = tmp_path / "spanwise_circle"
    circle.mkdir()
    # The pause lets the other thread enter; without the lock one of the two fails.
    (circle / "__init__.py").write_text(
        "import time\ntime.sleep(0.5)\nfrom spanwise_circle.spec import task\n"
    )
    (circle / "spec.py").write_text("import spanwise_circle\ntask = len\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    library = Library(Names())
    opened = []

    def imports(name):
        pickled = b"cimportlib\nimport_module\n(S'" + name.encode() + b"'\ntR."
        payload = struct.pack("<IId", 1, 0, len(pickled)) + pickled
        opened.append(library.loads(payload).__name__)

    names = ["spanwise_circle", "spanwise_circle.spec"]
    threads = [threading.Thread(target=imports, args=(name,)) for name in names]
    threads[0].start()
    while "spanwise_circle" not in sys.modules and threads[0].is_alive():
        threads[0].join(0.001)
    threads[1].start()
    for thread in threads:
        thread.join(60)
    assert sorted(opened) == names
