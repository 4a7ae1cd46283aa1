"""What is done with a task: train, resume, evaluate, play, export, compare engines, report."""
