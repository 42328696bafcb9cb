"""The services of the RTI ambassador, a file for each group; `weft.federate.ambassador` puts them together."""
