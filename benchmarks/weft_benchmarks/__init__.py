"""Measurements.  Each runs in a process of its own, so that compiled and pure Python can be compared in one run."""
