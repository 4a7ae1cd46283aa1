"""Runs: their directories, provenance, launch, playback and evaluation."""
