"""A federate's connection to an RTI over the Federate Protocol."""
