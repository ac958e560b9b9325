"""The codec: the gallery that TypeScript wrote, round trips, and bytes that make no sense."""

import gc
import json
import tracemalloc
from array import array

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.column_values import COLUMN_VALUES
from spanwise.wire.errors import BrokenFrame, FrameTooLong
from spanwise.wire.frame import decode, encode
from spanwise.wire.frame_reader import uninitialised
from spanwise.wire.schema import FORMAT_OF, ROLES, link_type

GALLERY = CHECKOUT / "src/testing/gallery/frames"
SAMPLES = sorted(path.stem for path in GALLERY.glob("*.bin"))
UP = link_type("worker").up


def body_of(buffers):
    """One body from what `encode` gives, its length prefix checked and cut off."""
    frame = b"".join(buffers)
    assert int.from_bytes(frame[:4], "little") == len(frame) - 4
    return frame[4:]


def plain(value):
    """`value` as the gallery's JSON has it: bytes as hex."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def contains(found, wanted):
    """Whether `found` is `wanted`, apart from fields that were filled in."""
    if isinstance(wanted, dict):
        return all(key in found and contains(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(contains, found, wanted))
    return found == wanted


def test_there_is_a_gallery():
    assert len(SAMPLES) >= 9


@pytest.mark.parametrize("name", SAMPLES)
def test_gallery_is_read_as_described(name):
    described = json.loads((GALLERY / f"{name}.json").read_text("utf-8"))
    kinds = link_type(described["link"]).direction(described["direction"])
    message = decode(kinds, (GALLERY / f"{name}.bin").read_bytes())
    assert message.type == described["type"]
    assert contains(plain(message.fields), described["fields"])
    assert [blob.hex() for blob in message.blobs] == described["blobs"]
    for table, columns in described["tables"].items():
        for column, values in columns.items():
            assert message.table(table)[column].tolist() == values


@pytest.mark.parametrize("name", SAMPLES)
def test_gallery_is_written_with_equal_columns_and_blobs(name):
    described = json.loads((GALLERY / f"{name}.json").read_text("utf-8"))
    kind = link_type(described["link"]).message(described["direction"], described["type"])
    blobs = [bytes.fromhex(blob) for blob in described["blobs"]]
    fields = dict(described["fields"])
    if "nonce" in fields:
        fields["nonce"] = bytes.fromhex(fields["nonce"])
    ours = body_of(encode(kind, fields, described["tables"], blobs))
    theirs = (GALLERY / f"{name}.bin").read_bytes()

    def sections(body):
        # Headers may differ (msgpack has several ways to write a number); what follows may not.
        start = 4 + int.from_bytes(body[:4], "little")
        return body[start + -start % 8 :]

    assert sections(ours) == sections(theirs)


#: By the letter of the format.
VALUES = {FORMAT_OF[kind]: values for kind, values in COLUMN_VALUES.items()}
run_rows = st.lists(
    st.tuples(*[VALUES[letter] for letter in UP["finished"].by_name["runs"].formats]),
    max_size=80,
)
blob_lists = st.lists(st.binary(max_size=50), max_size=4)
name_lists = st.lists(st.text(max_size=20), max_size=4)


@given(run_rows, blob_lists, name_lists)
def test_round_trip(rows, blobs, names):
    body = body_of(encode(UP["finished"], {"names": names}, {"runs": rows}, blobs))
    message = decode(UP, body)
    assert message.fields["names"] == names
    assert message.fields["errors"] == []
    table = message.table("runs")
    assert list(table) == rows
    assert table.values() == [list(values) for values in table.columns()]
    assert list(zip(*table.values(), strict=True)) == rows
    assert [bytes(blob) for blob in message.blobs] == blobs


@given(
    st.sampled_from([0, 1, 3, 64, 65, 200]),
    st.lists(st.sampled_from(UP["finished"].by_name["runs"].columns)),
)
def test_values_are_of_the_columns_named(count, names):
    columns = UP["finished"].by_name["runs"].columns
    rows = [tuple(range(i, i + len(columns))) for i in range(count)]
    message = decode(UP, body_of(encode(UP["finished"], {}, {"runs": rows})))
    wanted = [columns.index(name) for name in names or columns]
    found = message.table("runs").values(*names)
    assert found == [[row[position] for row in rows] for position in wanted]


@given(run_rows, blob_lists)
def test_rows_and_columns_are_the_same_bytes(rows, blobs):
    table = UP["finished"].by_name["runs"]
    columns = {
        name: array(letter, [row[i] for row in rows])
        for i, (name, letter) in enumerate(zip(table.columns, table.formats, strict=True))
    }
    by_rows = body_of(encode(UP["finished"], {}, {"runs": rows}, blobs))
    assert by_rows == body_of(encode(UP["finished"], {}, {"runs": columns}, blobs))


@given(run_rows, blob_lists, st.data())
def test_cut_short_is_a_broken_frame(rows, blobs, data):
    body = body_of(encode(UP["finished"], {}, {"runs": rows}, blobs))
    length = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(BrokenFrame):
        decode(UP, body[:length])


@settings(max_examples=5 * settings.default.max_examples)
@given(run_rows, blob_lists, name_lists, st.data())
def test_a_flipped_bit_is_read_or_a_broken_frame(rows, blobs, names, data):
    body = bytearray(body_of(encode(UP["finished"], {"names": names}, {"runs": rows}, blobs)))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        list(decode(UP, body).table("runs"))
    except BrokenFrame:
        pass


@settings(max_examples=5 * settings.default.max_examples)
@given(st.binary(max_size=200))
def test_noise_is_a_broken_frame(noise):
    with pytest.raises(BrokenFrame):
        decode(UP, noise)


@pytest.mark.parametrize("extra", [1, 3, 8, 4096])
@pytest.mark.parametrize(
    "frame",
    [
        (UP["event"], {"kind": "x"}),
        (UP["replicas"], {}, {"added": [(1, 2.0), (3, 4.0)]}),
        (UP["event"], {"kind": "x"}, None, [b"five5", b""]),
    ],
    ids=["fields", "table", "blobs"],
)
def test_bytes_that_nothing_accounts_for_are_refused(frame, extra):
    body = body_of(encode(*frame))
    assert decode(UP, body).type == frame[0].name
    with pytest.raises(BrokenFrame, match=f"accounts for {len(body)} of its {len(body) + extra}"):
        decode(UP, body + bytes(extra))


def test_a_blob_may_come_in_pieces():
    pieces = [b"ab", array("I", [1]), memoryview(b"cd")]
    message = decode(UP, body_of(encode(UP["event"], {"kind": "x"}, None, [map_bytes(pieces)])))
    assert bytes(message.blobs[0]) == b"ab\1\0\0\0cd"


def map_bytes(pieces):
    return [memoryview(piece) for piece in pieces]


def test_blobs_are_not_copied():
    blob = bytes(100_000)
    assert any(piece is blob for piece in encode(UP["event"], {"kind": "x"}, None, [blob]))


def test_columns_are_views_of_the_body():
    body = bytearray(body_of(encode(UP["replicas"], {}, {"added": [(1, 2.0), (3, 4.0)]})))
    message = decode(UP, body)
    column = message.table("added")["taskId"]
    assert column.obj is body
    assert column.tolist() == [1, 3]


def test_too_long_is_said_before_anything_is_sent():
    with pytest.raises(FrameTooLong, match='"event" message of'):
        encode(UP["event"], {"kind": "x" * 100}, limit=64)


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match=r"added.nbytes has 1 rows, not 2"):
        encode(UP["replicas"], {}, {"added": {"taskId": [1, 2], "nbytes": [1.0]}})


def test_unknown_tables_are_refused():
    with pytest.raises(ValueError, match="has no tables"):
        encode(UP["event"], {"kind": "x"}, {"rows": [(1,)]})


def test_the_wrong_field_is_named():
    body = body_of(encode(UP["flushed"], {"request": "soon"}))
    with pytest.raises(BrokenFrame, match=r'"flushed".request: expected an integer, got str'):
        decode(UP, body)


def test_the_missing_field_is_named():
    with pytest.raises(BrokenFrame, match=r'"flushed".request is missing'):
        decode(UP, body_of(encode(UP["flushed"])))


@pytest.mark.parametrize("role", ROLES)
def test_every_role_is_a_link(role):
    assert "hello" in link_type(role).up
    assert "welcome" in link_type(role).down


def body_with(header):
    return len(header).to_bytes(4, "little") + header


def nested(levels, items):
    """`levels` lists in each other, each of which promises `items`: 5 bytes a level."""
    return (b"\xdd" + items.to_bytes(4, "big")) * levels


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("direction", ["up", "down"])
def test_lengths_claim_no_memory(role, direction):
    kinds = link_type(role).direction(direction)
    headers = [
        nested(200, 30_000_000),
        # Passes for as much as there is, on each of a thousand levels: 480 MB.
        nested(1000, 55_000).ljust(60_000, b"\x00"),
        nested(50, 200).ljust(256, b"\x00"),
    ]
    tracemalloc.start()
    try:
        for header in headers:
            with pytest.raises(BrokenFrame):
                decode(kinds, body_with(header))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def nest(levels, innermost):
    for _ in range(levels):
        innermost = {"a": innermost}
    return innermost


def watch_of(levels, innermost=1):
    fields = {"id": 1, "cluster": "c", "view": "tasks", "params": nest(levels, innermost)}
    return body_with(msgpack.packb({"t": "watch", "f": fields}))


def test_a_header_nests_64_deep_and_no_deeper():
    """As in TypeScript (frame.spec.ts): 62 levels in the header and its fields."""
    kinds = link_type("panel").up
    for innermost in (1, [], {}):
        assert decode(kinds, watch_of(62, innermost)).type == "watch"
        with pytest.raises(BrokenFrame, match="nests more than 64"):
            decode(kinds, watch_of(63, innermost))
    with pytest.raises(BrokenFrame, match="nests more than 64"):
        decode(kinds, watch_of(62, [1]))
    with pytest.raises(BrokenFrame, match=r"nests more|StackError"):
        decode(kinds, watch_of(400))
    with pytest.raises(BrokenFrame, match="StackError"):
        decode(kinds, body_with(b"\x91" * 100_000 + b"\x00"))


def test_fields_of_a_newer_build_nest_as_deep_and_no_deeper():
    kinds = link_type("panel").up

    def frame(header, field):
        fields = {"id": 1, **({} if field is None else {"newer": field})}
        return body_with(msgpack.packb({"t": "unwatch", "f": fields, **header}))

    assert decode(kinds, frame({}, nest(62, 1))).type == "unwatch"
    assert decode(kinds, frame({"newer": nest(63, 1)}, None)).type == "unwatch"
    for body in (frame({}, nest(63, 1)), frame({"newer": nest(64, 1)}, None)):
        with pytest.raises(BrokenFrame, match="nests more than 64"):
            decode(kinds, body)


def test_there_are_no_extensions():
    stamp = msgpack.Timestamp(1, 0)
    for value in (stamp, msgpack.ExtType(5, b""), msgpack.ExtType(5, b"x")):
        body = body_with(msgpack.packb({"t": "watch", "f": {"params": value}}))
        with pytest.raises(BrokenFrame):
            decode(link_type("panel").up, body)


@pytest.mark.parametrize(
    "fields",
    [
        {"request": -1},
        {"request": 2**32},
        {"request": 2**63},
        {"request": 1.5},
        {"request": True},
    ],
)
def test_integers_have_the_bounds_of_the_description(fields):
    body = body_with(msgpack.packb({"t": "flush", "f": fields}))
    with pytest.raises(BrokenFrame, match="request"):
        decode(link_type("worker").down, body)


def test_nan_is_no_number():
    body = body_with(msgpack.packb({"t": "rates", "f": {"memorySeconds": float("nan")}}))
    with pytest.raises(BrokenFrame, match="a number"):
        decode(link_type("worker").down, body)


def test_memory_for_a_long_frame_is_taken_without_ado():
    """CPython's function was wrapped anew each time: a class, ten times the cost of the call."""
    assert len(uninitialised(70_000)) == 70_000
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(100):
            uninitialised(70_000)
        assert len(gc.get_objects()) < before + 100
    finally:
        gc.enable()
