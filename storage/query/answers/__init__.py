"""Parts that many answers have: the selection they are for, and figures with intervals."""
