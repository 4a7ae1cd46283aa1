"""``python -m genelab_franka.collect_demos --num-envs 64 --steps 1000 --out FILE``: `genelab collect` for this task."""

import sys

from genelab.cli.main import main

if __name__ == "__main__":
    main(["collect", "GeneLab-Franka-Pick-And-Place-v0", *sys.argv[1:]])
