"""Tests of `weft.review.audits`."""
