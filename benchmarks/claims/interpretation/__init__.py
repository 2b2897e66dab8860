"""What is said of a fitted model: intervals of effects, and a test of proportional odds."""
