"""How busy cores with two hardware threads really are: adjusted processor utilisation (APU), DIGEST A1-A9."""
