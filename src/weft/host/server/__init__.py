"""`weft serve`: sessions of the Federate Protocol, who may connect, and what is sent to federates."""
