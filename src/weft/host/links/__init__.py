"""Links between the nodes of a mesh: sessions, frames, TLS."""
