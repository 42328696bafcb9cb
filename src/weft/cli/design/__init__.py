"""Commands that prepare a federation: fom, ddm, domains."""
