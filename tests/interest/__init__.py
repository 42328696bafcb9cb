"""Who gets it: regions, strategies and matching."""
