"""Event channels of several processes, joined over links; their runs in files."""
