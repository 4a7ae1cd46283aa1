"""``python -m genelab``."""

from genelab.cli.main import main

main()
