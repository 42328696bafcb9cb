"""Objects and interactions as a `Federate` has them."""
