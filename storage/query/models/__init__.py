"""The papers' models over what the fleet itself reported: each a question, with its inputs told beside its answer."""
