"""Tests of `weft.review.spark`."""
