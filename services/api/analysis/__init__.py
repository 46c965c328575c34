"""The papers' models as routes below /analysis: a module each, with the model of its answer, its document and its route.

What they have in common is in `envelope`: the selection, what an answer is made of, why there is none, figures whose interval may be open.
"""
