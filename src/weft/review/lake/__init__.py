"""The lake of results: what reviews of many runs have found, as tables of Parquet files (docs/reference/lake.md)."""
