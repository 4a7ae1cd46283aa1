"""Campaigns: many trainings from one file, what became of them, and their tables."""
