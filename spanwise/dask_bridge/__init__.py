"""Panels on a Dask cluster that runs: a plugin on its scheduler, and who pulls what it notes."""
