"""Tests of `weft.channel`; `reference` has the definitions that it is held against, `contract` what every dispatcher must do."""
