"""Tasks in which a robot moves things."""
