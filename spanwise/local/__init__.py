"""Dask's own local schedulers, observed: ``spanwise.observe()``."""
