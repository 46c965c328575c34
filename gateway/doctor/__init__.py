"""What a machine keeps the gateway from seeing, what that costs, and what to do."""
