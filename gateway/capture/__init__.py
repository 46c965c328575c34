"""One capture from the plan to the message: limits, sampling, recording, packing."""
