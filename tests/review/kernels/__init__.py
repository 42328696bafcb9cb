"""Tests of `weft.review.kernels`."""
