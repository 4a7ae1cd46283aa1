"""Legged robots that follow a velocity command."""
