"""Benchmarks: the peer and Spanwise alternately, in one run, on the same work."""
