"""Accuracy of the models, beside the naive prediction and the noise floor."""
