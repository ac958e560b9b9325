"""The client used in notebooks and scripts; see README.md."""
