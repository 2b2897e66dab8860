"""Thresholds only: initialise, Newton step, Schur step, order. Pure functions of sums."""
