"""Tests of `weft.review.advice`."""
