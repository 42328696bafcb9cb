"""What should change before the next run, from many runs together (docs/how-to/tuning.md)."""
