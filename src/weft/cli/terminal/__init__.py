"""What a terminal shows of running nodes, and the keys it reads."""
