"""The audits: was the run right?  Each is a function of a `Context` and returns a `Result`."""
