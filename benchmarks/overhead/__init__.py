"""Cost of sampling for the sampled programs."""
