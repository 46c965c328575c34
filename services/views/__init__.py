"""How answers look in a terminal, a view a module; `services.terminal` has what they share."""
