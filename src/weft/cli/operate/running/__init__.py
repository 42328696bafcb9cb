"""`weft run` of a federation file: read it, start its nodes and federates, watch them, end them all (docs/how-to/run-file.md).

`reading` makes a `plan` of the file; `course` decides, as a pure function of what happens, who starts when and when all is over;
`run` does it, with `programs`, `places` (nodes and their addresses), `watching` (what happens) and `view` (what is shown).
"""
