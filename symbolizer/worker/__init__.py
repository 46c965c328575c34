"""The Celery pool: queues, tasks, the way of a capture from the archive into the store."""
