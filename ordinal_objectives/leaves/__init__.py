"""Steps of leaves and the decrease of the loss that they give, in closed form: the reference of the native criteria."""
