"""The log of what Dask's local schedulers do."""

from __future__ import annotations

from spanwise.graph.roots import RootAnnotation
from spanwise.graph.span_record import SpanRecord
from spanwise.local.local_log import LocalLog
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
