"""Rows of messages as tuples. Written by `jlpm build:schema` from `src/wire/worker-link.ts`.

A position is a constant: a tuple with names costs ten times as much to make.
"""

from typing import Final

#: A row of `assign.tasks`.
TaskRow = tuple[
    int,  # taskId
    int,  # runId
    int,  # template
    int,  # chunk
    int,  # row
    int,  # function
    int,  # span
    int,  # flags
    float,  # priority
    float,  # readyAt
    int,  # firstDependency
]
TASK_ID: Final = 0
TASK_RUN_ID: Final = 1
TASK_TEMPLATE: Final = 2
TASK_CHUNK: Final = 3
TASK_ROW: Final = 4
TASK_FUNCTION: Final = 5
TASK_SPAN: Final = 6
TASK_FLAGS: Final = 7
TASK_PRIORITY: Final = 8
TASK_READY_AT: Final = 9
TASK_FIRST_DEPENDENCY: Final = 10

#: A row of `finished.runs`.
RunRow = tuple[
    int,  # taskId
    int,  # runId
    int,  # status
    int,  # thread
    float,  # start
    float,  # duration
    float,  # cpu
    float,  # waitInputs
    float,  # waitThread
    float,  # nbytes
    int,  # inlineStart
    int,  # inlineLength
    int,  # firstPart
    int,  # type
]

#: A row of `finished.parts`.
PartRow = tuple[
    int,  # kind
    int,  # function
    int,  # span
    float,  # offset
    float,  # duration
    float,  # cpu
    float,  # coreWait
    float,  # bytes
    int,  # from
    int,  # held
]
PART_KIND: Final = 0
PART_FUNCTION: Final = 1
PART_SPAN: Final = 2
PART_OFFSET: Final = 3
PART_DURATION: Final = 4
PART_CPU: Final = 5
PART_CORE_WAIT: Final = 6
PART_BYTES: Final = 7
PART_FROM: Final = 8
PART_HELD: Final = 9
