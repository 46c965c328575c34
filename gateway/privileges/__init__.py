"""What the gateway may do, and what it gives up before it hears anybody."""
