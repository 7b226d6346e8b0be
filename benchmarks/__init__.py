"""Measurements of this tool itself, side by side with named peers; each module is one command."""
