"""The services of clauses 5 to 10, by clause."""
