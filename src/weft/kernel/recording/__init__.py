"""What happens at a node, as rows of a recorded run."""
