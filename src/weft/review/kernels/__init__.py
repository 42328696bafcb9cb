"""What a job does with a batch of rows: plain functions on numpy arrays, which know nothing of Spark."""
