"""How often threads are looked at, and after how long a running task is reported."""

from __future__ import annotations

#: Seconds between looks at threads that compute. A sample stands for 10 ms; looking a
#: little more often makes up for wake-ups that come late on a busy machine.
LOOK_SECONDS = 0.009
#: Between looks at threads that stand still: a wake-up costs some 150 us on a virtual
#: machine, so 100 of them a second would cost more than the tasks that they watch.
STILL_SECONDS = 0.04
#: Tasks from here on are shown while they run.
RUNNING_SECONDS = 0.1
