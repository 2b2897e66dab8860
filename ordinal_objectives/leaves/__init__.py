"""What a leaf is worth and what it moves, in closed form: the reference of the native criteria."""
