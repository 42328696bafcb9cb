"""Recorded runs: rows to Parquet files, and reading them."""
