"""Learning methods of the rsl_rl backend, one module each. `genelab.rl.methods.base` says what a method is."""
