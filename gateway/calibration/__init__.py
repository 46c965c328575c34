"""Properties of this machine's type that no counter shows, measured on request by loading idle CPUs."""
