"""The gateway's privileges, and dropping them before it serves anyone."""
