"""Many federates at a server, and federates that do not read: in processes that a benchmark tells when to begin."""
