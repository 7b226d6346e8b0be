"""What sends the requests: one module a kind of load."""
