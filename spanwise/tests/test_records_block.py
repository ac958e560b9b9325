"""Blocks: the gallery that TypeScript wrote, and the same bytes written here."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.records.block import BrokenBlock, decode_block, decode_blocks, encode_block
from spanwise.records.tables import record_tables
from spanwise.tests.checkout import CHECKOUT
from spanwise.tests.column_values import COLUMN_VALUES

GALLERY = CHECKOUT / "src/testing/gallery/blocks"
SAMPLES = sorted(path.stem for path in GALLERY.glob("*.bin"))


def described(name):
    sample = json.loads((GALLERY / f"{name}.json").read_text("utf-8"))
    for row in sample["rows"]:
        for column, value in row.items():
            row[column] = math.nan if value == "NaN" else value
    return sample


def columns_of(sample):
    names = record_tables()[sample["table"]].columns
    return {name: [row[name] for row in sample["rows"]] for name in names}


def same(a, b):
    both_nan = isinstance(a, float) and math.isnan(a) and math.isnan(b)
    return both_nan or a == b


def assert_is(block, sample):
    assert (block.seq, block.table.name, block.rows) == (
        sample["seq"],
        sample["table"],
        len(sample["rows"]),
    )
    for column, values in columns_of(sample).items():
        assert all(map(same, block.column(column), values)), column


def test_there_is_a_gallery():
    assert len(SAMPLES) >= 3


@pytest.mark.parametrize("name", SAMPLES)
def test_gallery_is_read_as_described(name):
    sample = described(name)
    block = decode_block((GALLERY / f"{name}.bin").read_bytes())
    assert_is(block, sample)


@pytest.mark.parametrize("name", SAMPLES)
def test_gallery_is_written_byte_for_byte(name):
    sample = described(name)
    ours = encode_block(sample["seq"], sample["table"], columns_of(sample))
    assert ours == (GALLERY / f"{name}.bin").read_bytes()


CONSTANTS = GALLERY.parent / "constant-columns"


@pytest.mark.parametrize("name", SAMPLES)
def test_columns_of_one_value_are_read_as_described(name):
    sample = described(name)
    block = decode_block((CONSTANTS / f"{name}.bin").read_bytes())
    assert_is(block, sample)


def test_columns_of_one_value_stand_there_once():
    whole = (GALLERY / "runs.bin").read_bytes()
    data = (CONSTANTS / "runs.bin").read_bytes()
    assert (whole[:4], data[:4]) == (b"SWB2", b"SWB3")
    assert len(data) < len(whole)


@pytest.mark.parametrize("name", SAMPLES)
def test_bent_blocks_with_columns_of_one_value_are_broken_or_blocks(name):
    data = (CONSTANTS / f"{name}.bin").read_bytes()
    for at in range(len(data)):
        for bit in range(8):
            bent = bytearray(data)
            bent[at] ^= 1 << bit
            try:
                block = decode_block(bent)
                for column in block.table.columns:
                    assert len(block.column(column)) == block.rows
            except BrokenBlock:
                assert (
                    at < 24 or "text" in record_tables()[described(name)["table"]].columns.values()
                )
            else:
                # Neither beginning nor flags nor length can be another one's.
                assert at not in {0, 1, 2, 3, 20, 21, 22, 23}


@pytest.mark.parametrize(
    ("table", "columns", "constants"),
    [
        ("names", {"id": [1], "text": ["one"]}, 0b01),
        ("names", {"id": [1], "text": ["one"]}, 0b10),
        ("edges", {"node": [1]}, 0b10),
    ],
)
def test_some_columns_have_no_one_value(table, columns, constants):
    data = bytearray(encode_block(1, table, columns))
    data[3:4] = b"3"
    data[10] = constants
    with pytest.raises(BrokenBlock, match="columns have one value"):
        decode_block(data)
    data[10] = 0
    with pytest.raises(BrokenBlock, match="Not a block"):
        decode_block(data)


VALUES = {
    **COLUMN_VALUES,
    "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
}


@st.composite
def blocks(draw):
    """A table's name and any columns for it."""
    table = draw(st.sampled_from(sorted(record_tables())))
    rows = draw(st.integers(1, 20))
    columns = {
        name: draw(st.lists(VALUES[kind], min_size=rows, max_size=rows))
        for name, kind in record_tables()[table].columns.items()
    }
    return table, columns


@given(blocks())
def test_round_trip(value):
    table, columns = value
    data = encode_block(9, table, columns)
    assert len(data) % 8 == 0
    block = decode_block(data)
    assert {name: block.column(name) for name in columns} == columns


@given(blocks(), st.data())
def test_cut_short_or_bent_is_a_broken_block(value, data):
    block = bytearray(encode_block(9, *value))
    with pytest.raises(BrokenBlock):
        decode_block(block[: data.draw(st.integers(0, len(block) - 1))])
    block[data.draw(st.integers(0, len(block) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        read = decode_block(block)
        for name in read.table.columns:
            read.column(name)
    except BrokenBlock:
        pass


def test_a_log_of_the_first_format_is_read_as_it_was_meant():
    folder = GALLERY.parent / "first-format"
    meant = json.loads((folder / "log.json").read_text("utf-8"))["blocks"]
    read = list(decode_blocks((folder / "log.bin").read_bytes()))
    assert [(block.seq, block.table.name, block.rows) for block in read] == [
        (block["seq"], block["table"], len(block["rows"])) for block in meant
    ]
    for block, said in zip(read, meant, strict=True):
        for column in block.table.columns:
            values = [row[column] for row in said["rows"]]
            values = [math.nan if value == "NaN" else value for value in values]
            assert all(map(same, block.column(column), values)), (block.table.name, column)


def test_blocks_follow_each_other():
    data = encode_block(1, "names", {"id": [0], "text": ["inc"]})
    data += encode_block(2, "edges", {"node": [7, 8]})
    assert [(b.seq, b.table.name, b.rows) for b in decode_blocks(data)] == [
        (1, "names", 1),
        (2, "edges", 2),
    ]
