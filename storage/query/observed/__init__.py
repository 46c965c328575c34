"""What visits brought besides samples, as arrays by visit: counters, logical CPUs, the machines themselves."""
