"""How a round moves leaves and thresholds: one file for each update, with the same questions answered."""

from ordinal_objectives.adapters.updates.protocol import Update

__all__ = ["Update"]
