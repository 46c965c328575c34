"""Questions of commands, answered by an API or by the store itself."""
