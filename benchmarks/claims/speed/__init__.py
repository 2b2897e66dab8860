"""What a pass, a round or a training costs."""
