"""What follows from probabilities: sets and calibration."""
