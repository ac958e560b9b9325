"""The command ``spanwise``."""
