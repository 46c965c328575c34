"""Read a selection's profiles and facts from the chunks of its visits."""
