"""The parts of a run, as rows of the table `parts`."""

from __future__ import annotations

from spanwise.wire.rows import PartRow

Part = PartRow
