"""The shapes of results: one module each, with the query, its result, and how the result is computed."""
