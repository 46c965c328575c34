"""What is stored as bytes: columns of small numbers, and the facts and lines that are made of them.

| module | what |
|---|---|
| `columns` | columns of integers, of any number of blobs at once |
| `symbols` | columns whose numbers are seldom large, as one symbol of a byte each |
| `facts` | `chunk.data` and `rollup.data`, (stack, value); `line_chunk.data`, (function, line, self, total) |

The moments of cells are made of the same columns in `storage.rollup.moments_codec` and `weighted_codec`. The first byte of a
blob says which form it has; forms that are not written any more can be read as long as facts live.
"""
