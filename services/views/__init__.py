"""How answers look in a terminal, a view a module; `services.views.terminal` has what they share."""
