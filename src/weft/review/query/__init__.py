"""The lake asked in SQL, by DuckDB or by Spark (docs/how-to/lake.md)."""
