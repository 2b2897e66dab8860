"""One script for each claim; its results lie in benchmarks/results."""
