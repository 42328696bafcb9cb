"""What a node knows of its federations, as plain data."""
