"""Send records to MLflow and read them back. Only the parent process writes."""
