"""Spark: sessions, runs as tables, and work for tasks."""
