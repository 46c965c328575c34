"""True load of cores with two hardware threads: adjusted processor utilisation (APU), DIGEST A1-A9."""
