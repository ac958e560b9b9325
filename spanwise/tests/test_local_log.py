"""The log of what Dask's local schedulers do."""

from __future__ import annotations

from time import perf_counter

from spanwise.graph.roots import RootAnnotation
from spanwise.graph.span_record import SpanRecord
from spanwise.local.local_log import HOME, LocalLog
from spanwise.records.block import decode_block
from spanwise.records.log_writer import SealedBlock


def test_a_span_that_closes_after_the_end_writes_nothing() -> None:
    blocks: list[SealedBlock] = []
    log = LocalLog("x", lambda block, at: blocks.append(block))
    within, around = (SpanRecord(tag, None, origin="cell") for tag in ("within", "around"))
    for record in (within, around):
        log.spans.id(RootAnnotation(record))
    within.close()
    last, sealed = log.end(), len(blocks)
    around.close()
    assert log.seal() == last and len(blocks) == sealed


def test_a_program_that_only_hands_tasks_out_has_no_thread_for_them() -> None:
    sealed: list[SealedBlock] = []
    log = LocalLog("x", lambda block, at: sealed.append(block))

    def threads() -> list[int]:
        log.seal()
        blocks = [decode_block(each.data) for each in sealed]
        told = [block.column("threads") for block in blocks if block.table.name == "workers"]
        return [each for column in told for each in column]

    assert threads() == [0]
    log.capacity(HOME, 2, perf_counter())
    log.capacity(HOME, 0, perf_counter())
    assert threads() == [0, 2]
