"""Calls that a script may make: which, when they make sense, and what their arguments mean."""
