"""Nodes inside a federate's process: embedded, or a node of a mesh."""
