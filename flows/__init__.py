"""Composes the other packages into Prefect flows and the command `poolexp`."""
