"""How urgently: the real-time event channel.  Filter, correlate, dispatch by priority (docs/channel.md)."""
