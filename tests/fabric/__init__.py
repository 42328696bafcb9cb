"""Tests of the fabric, with a tiny network of their own."""
