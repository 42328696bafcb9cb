"""The review: its kernels and jobs against brute force, on small random runs with planted faults."""
