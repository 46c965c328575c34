"""The routes that answer selections: one module for each shape of an answer.

| module | noun |
|---|---|
| `table`, `callers`, `lines`, `shared_code`, `flame` | a shape: its OpenAPI models, JSON document and route |
| `call_graph`, `stacks`, `series`, `diff`, `flame_diff`, `movers`, `reliability`, `labels` | further shapes |
| `status` | a shape without a selection: the state of the whole fleet |
| `selection_echo`, `totals`, `estimates`, `functions` | shared parts, each with its model and document |
| `stack_files` | the stacks behind an answer, as files; `diff_files`: those of both sides of a comparison |
| `graphviz` | a call graph in Graphviz's language |
| `query_handler` | how a route runs its query, and the problems that may result |

Shapes import parts; no shape imports another. Documents are plain dictionaries, and the models describe them for
OpenAPI (the web client's types are generated from it). Answers are not validated; a test checks documents against
models. A new shape is a module with a document, its forms (`services.api.formats`) and `add`, and a line in
`services.api.routes`.
"""
