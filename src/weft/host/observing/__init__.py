"""What a node tells of itself: surveys, the log of calls, spans, service reports."""
