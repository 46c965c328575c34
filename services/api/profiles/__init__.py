"""The routes that answer selections, a module for each shape of an answer.

| module | noun |
|---|---|
| `table`, `callers`, `lines`, `shared_code`, `flame`, `call_graph`, `stacks`, `series`, `diff`, `flame_diff`, `movers`, `reliability`, `labels` | a shape: its models for OpenAPI, its JSON document, and its route |
| `status` | likewise, of the fleet rather than a selection |
| `selection_echo`, `totals`, `estimates`, `functions`, `diff_rows` | parts that documents share: each one's model and document |
| `stack_files` | the stacks that an answer was counted from, as files beside its forms; `diff_files` those of both sides of a comparison |
| `graphviz` | a call graph in Graphviz's language |
| `query_handler` | how a route asks the query engine, and what problems may come of it |

Shapes import parts; no shape imports another. Documents are plain dictionaries that the models only
describe (the web client's types are generated from them): nothing is validated on the way out, a test
holds the two together. A new shape is a module with a document, its forms (`services.api.formats`) and
`add`, and a line in `services.api.routes`.
"""
