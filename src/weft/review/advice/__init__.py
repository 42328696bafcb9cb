"""What should change before the next run."""
