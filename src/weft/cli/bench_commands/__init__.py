"""The parts of `weft bench`, a module each."""
