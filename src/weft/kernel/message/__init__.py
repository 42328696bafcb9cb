"""The way of a message.  Start with `pipeline`."""
