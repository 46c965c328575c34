"""Binary formats: columns of small numbers, and the facts and lines made of them.

| module | content |
|---|---|
| `columns` | columns of integers, of any number of blobs at once |
| `small_numbers` | columns of mostly small numbers, as symbols of one byte each |
| `fact_blobs` | `chunk.data` and `rollup.data`, (stack, value); `line_chunk.data`, (function, line, self, total) |

The moments of cells consist of the same columns in `storage.rollup.moments_codec` and `long_moments_codec`. The first
byte of a blob identifies its format; older formats stay readable as long as facts are kept.
"""
