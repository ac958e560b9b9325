"""The record log's blocks, as Python reads and writes them; the mirror of ``src/records``."""
