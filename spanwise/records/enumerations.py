"""What the numbers of columns stand for. Written by `jlpm build:schema`: do not edit.

Described in `src/records/enumerations.ts`; what each means: docs/contracts.md §11.
"""

from typing import Final

LARGEST_U16: Final = 0xFFFF
LARGEST_U32: Final = 0xFFFFFFFF
#: No id, no row, not there: the largest number that the column holds.
NONE_U16: Final = LARGEST_U16
NONE_U32: Final = LARGEST_U32

# RunStatus: log `runs.status`, `finished.runs.status`, local files
RUN_OK: Final = 0
RUN_FAILED: Final = 1
RUN_LOST: Final = 2
RUN_MISSING: Final = 3
RUN_RESCHEDULED: Final = 4
RUN_CANCELLED: Final = 5

# PartKind: log `parts.kind`, `finished.parts.kind`
KIND_TRANSFER: Final = 1
KIND_DISK_READ: Final = 2
KIND_DESERIALIZE: Final = 3
KIND_COMPUTE: Final = 4
KIND_SERIALIZE: Final = 5
KIND_DISK_WRITE: Final = 6
KIND_IMPORT: Final = 7

# SampleState: log `samples.state`, `measured.samples.state`
SAMPLE_ON_CORE: Final = 0
SAMPLE_WAITING: Final = 1
SAMPLE_BLOCKED: Final = 2
SAMPLE_UNKNOWN: Final = 3

# StoredKind: log `stored.kind`, `measured.stored.kind`
STORED_STORED: Final = 0
STORED_RELEASED: Final = 1
STORED_SPILLED: Final = 2
STORED_READ_BACK: Final = 3
STORED_REPLICA: Final = 4

# CapacityState: log `capacity.state`
CAPACITY_RUNNING: Final = 0
CAPACITY_PAUSED: Final = 1
CAPACITY_CLOSING: Final = 2
CAPACITY_GONE: Final = 3
CAPACITY_STOPPED: Final = 4

# ClockChange: log `clocks.why`
CLOCK_MEASURED: Final = 0
CLOCK_SLEWED: Final = 1
CLOCK_STEPPED: Final = 2

# WaitReason: log `waiting.reason`, §12 `waiting.reason`
WAIT_INPUT: Final = 0
WAIT_THREAD: Final = 1
WAIT_RESOURCE: Final = 2
WAIT_PAUSED: Final = 3
WAIT_NO_WORKER: Final = 4
WAIT_NO_NAMED: Final = 5
WAIT_NO_RESOURCE: Final = 6
WAIT_UNPLACED: Final = 7

# SpanOrigin: log `spans.origin`, `spans[].origin`
SPAN_USER: Final = 0
SPAN_CELL: Final = 1
SPAN_NOTEBOOK: Final = 2
SPAN_DEFAULT: Final = 3
SPAN_INFERRED: Final = 4
SPAN_WORDS: Final = {
    "user": SPAN_USER,
    "cell": SPAN_CELL,
    "notebook": SPAN_NOTEBOOK,
    "default": SPAN_DEFAULT,
    "inferred": SPAN_INFERRED,
}

# TaskOrigin: log `nodes.origin`, `submit.tasks.origin`
ORIGIN_DEFAULT: Final = 0
ORIGIN_USER: Final = 1
ORIGIN_INFERRED: Final = 2
ORIGIN_REUSED: Final = 3

# ReportStatus: `report.tasks.status`
REPORT_MEMORY: Final = 1
REPORT_ERRED: Final = 2
REPORT_LOST: Final = 3
REPORT_CANCELLED: Final = 4

# SubmitFlag: `submit.tasks.flags`, `scattered.tasks.flags`, `assign.tasks.flags`
FLAG_WANTED: Final = 1
FLAG_ALIAS: Final = 2
FLAG_DATA: Final = 4
FLAG_FUSED: Final = 8

# ItemStatus: `data.items.status`
ITEM_OK: Final = 0
ITEM_MISSING: Final = 1
ITEM_NOT_PICKLED: Final = 2
ITEM_TOGETHER: Final = 3

# TransferStatus: log `transfers.status`, `measured.transfers.status`
TRANSFER_OK: Final = 0

#: The label of seconds for which a run has waited for other tasks.
OTHER_TASKS: Final = "other-tasks"

MEMORY_MEASURES: Final = (
    "process",
    "managed",
    "managed_total",
    "spilled",
    "unmanaged",
    "unmanaged_old",
    "unmanaged_recent",
    "optimistic",
)
