"""Leaf steps of order 3 and 4."""
