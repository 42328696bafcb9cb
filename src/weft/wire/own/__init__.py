"""What the Federate Protocol does not have: fields, calls and callbacks of Weft's own."""
