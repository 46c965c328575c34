"""What operators set: the environment, its checks and what processes are given of it."""
