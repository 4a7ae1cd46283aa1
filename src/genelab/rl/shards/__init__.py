"""Worlds in several processes: shards, the workers in them, and what is heard of them."""
