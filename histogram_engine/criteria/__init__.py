"""What a split is worth, and what its leaves are: one file for each criterion, as in native/core/criteria."""
