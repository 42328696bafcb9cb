"""A node: stimuli in, effects out; commands, the directory of federations, and other nodes that come and go."""
