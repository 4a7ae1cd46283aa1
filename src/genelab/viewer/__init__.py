"""Seeing worlds: a page in the browser with controls, and a native window."""
