"""Commands about recorded runs: runs, review, tune, export, timeline."""
