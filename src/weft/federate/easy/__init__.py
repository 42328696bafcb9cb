"""What a `Federate` offers, a file for each group, as `weft.federate.services` has those of the ambassador."""
