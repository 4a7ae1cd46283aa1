"""Robot models: the project's own MJCF, primitive shapes only."""
