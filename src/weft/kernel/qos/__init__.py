"""Urgent classes, deadlines, and messages that are delivered in groups."""
