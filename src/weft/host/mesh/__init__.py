"""A node of a mesh: causal channels, journal, agents, and the federations on it."""
