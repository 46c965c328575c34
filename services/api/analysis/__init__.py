"""The papers' models as routes below /analysis: one module each, with its answer's model, its document and its route.

Shared parts are in `envelope` (the selection, the inputs of an answer, reasons for a missing answer, figures with
possibly open intervals) and `model_answers`.
"""
