"""Sources of images and symbols; the best candidate is used."""
