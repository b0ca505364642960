"""Records as MLflow runs, written by the parent process alone."""
