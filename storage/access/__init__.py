"""Sign-in of readers, API tokens, saved views and prices: what all API processes of an installation share."""
