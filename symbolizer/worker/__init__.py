"""The Celery worker: queues, tasks, and the ingestion of captures from the archive into the store."""
