"""The papers' models as routes below /analysis: one module each, with its route. Answers: `storage.query.answers`."""
