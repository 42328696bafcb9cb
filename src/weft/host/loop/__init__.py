"""An event loop without a thread of its own: whoever waits drives it."""
