"""A log's way to the observer, for every program that writes one."""
