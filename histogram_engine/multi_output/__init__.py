"""Trees whose leaves have several outputs, for losses that are not ordinal."""
