"""Federates and their services; tests of services run in several placements (conftest.py)."""
