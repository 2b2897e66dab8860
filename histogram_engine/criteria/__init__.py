"""The gain of a split and the values of its leaves: one file for each criterion, as in native/core/criteria."""
