"""Operators' changes of campaigns and requests of visits, for the command line and the API."""
