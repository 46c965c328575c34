"""Data of visits besides samples, as arrays by visit: counters, logical CPUs, and the machines themselves."""
