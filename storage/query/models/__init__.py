"""The papers' models, computed from the fleet's own data: one query each, whose answer also describes its inputs."""
