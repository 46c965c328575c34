"""What commands share: hints, tables, errors with a caret."""
