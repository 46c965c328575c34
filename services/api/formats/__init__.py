"""The forms of answers, such as JSON and CSV, and the choice of one for a request.

| module | noun |
|---|---|
| `accept` | the Accept header: a client's preference for a media type |
| `forms` | the forms of a route's answer, the choice among them, and their OpenAPI description |
| `row_columns` | a document's flat rows as typed columns, derived from its models |
| `arrow`, `csv_text` | columns as an Arrow stream and as CSV |
| `documents` | JSON, Arrow and CSV of a document with flat rows |

A shape defines `FORMS = forms_of(TableAnswer, "rows")`, passes `FORMS.openapi` to its route, and answers by
`handler.answer(request, FORMS, document)`.
"""
