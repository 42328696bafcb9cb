"""Calls and callbacks of the Federate Protocol: from services and arguments to bytes, and back."""
