"""Runs on disk: writing one, reading one, and what several seeds of one amount to."""
