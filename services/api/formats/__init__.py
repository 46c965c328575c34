"""The forms an answer can be had in, and which one a request wants.

| module | noun |
|---|---|
| `accept` | the Accept header: how much its sender wants a media type |
| `forms` | the forms of a route's answer, the choice among them, what OpenAPI says of them |
| `row_columns` | a document's flat rows as typed columns, read from the models that describe it |
| `arrow`, `csv_text` | columns as an Arrow stream and as CSV |
| `documents` | JSON, Arrow and CSV of a document: what a shape with flat rows gets for one line |

A shape says `FORMS = forms_of(TableAnswer, "rows")`, gives `FORMS.openapi` to its route, and answers by
`handler.answer(request, FORMS, document)`.
"""
