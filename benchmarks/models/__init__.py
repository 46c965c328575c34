"""How right the models are, beside the naive answer and the noise that nothing can be better than."""
