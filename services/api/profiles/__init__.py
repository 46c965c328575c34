"""The routes that answer selections: one module each, with the route's parameters and its forms.

| module | noun |
|---|---|
| `table`, `callers`, `lines`, `shared_code`, `flame` | a shape |
| `call_graph`, `stacks`, `series`, `diff`, `flame_diff`, `movers`, `reliability`, `labels` | further shapes |
| `status` | a shape without a selection: the state of the whole fleet |
| `stack_files` | the stacks behind an answer, as files; `diff_files`: those of both sides of a comparison |
| `graphviz` | a call graph in Graphviz's language |
| `query_handler` | how a route runs its query, and the problems that may result |

Answers are the frozen dataclasses of `storage.query.answers`, which also describe them for OpenAPI (the web client's
types are generated from it). They are not validated; a test checks responses against the types. A new shape is an
answer, a question in `storage.query.shapes`, a module here with its forms (`services.api.formats`) and `add`, and a
line in `services.api.routes`.
"""
