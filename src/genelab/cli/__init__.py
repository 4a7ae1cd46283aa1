"""The command line: one module per command. Heavy modules are imported inside functions."""
