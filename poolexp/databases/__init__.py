"""The servers an experiment can run against, each one an asynchronous context manager."""
