"""Trees of vector leaves for several outputs."""
