"""Commands that look at running nodes: status, top."""
