"""Terminal output of the models' answers, those of the routes under /api/v1/analysis."""
