"""Runs the shards of a turncoat plan on a Ray cluster."""
