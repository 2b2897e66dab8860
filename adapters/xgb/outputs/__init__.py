"""Shifts that XGBoost fits itself, as outputs beside the score."""
