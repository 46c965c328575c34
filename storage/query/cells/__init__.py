"""Answer queries from merged cells and from visits that are not merged yet."""
