"""Reading a selection's profiles and facts out of the chunks of its visits."""
