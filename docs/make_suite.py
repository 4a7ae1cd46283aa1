"""Draw all tasks of the control suite on one sheet: python docs/make_suite.py"""

from pathlib import Path

from make_stills import still
from PIL import Image, ImageDraw, ImageFont

from genelab.core.registry import TaskSpec
from genelab.tasks.suite import ROWS, TASKS

PICTURE = Path(__file__).parent / "images/suite.png"
COLUMNS, WIDTH, HEIGHT, TITLE = 5, 232, 174, 20


def tile(spec: TaskSpec, name: str, seed: int) -> Image.Image:
    """One task in the middle of things, with its name."""
    sheet = Image.new("RGB", (WIDTH, HEIGHT + TITLE), "white")
    sheet.paste(still(spec, WIDTH, HEIGHT, seed), (0, TITLE))
    ImageDraw.Draw(sheet).text((4, 3), name, fill=(40, 50, 60), font=ImageFont.load_default(13))
    return sheet


if __name__ == "__main__":
    tiles = [tile(spec, row.name, seed) for seed, (spec, row) in enumerate(zip(TASKS, ROWS, strict=True))]
    rows = -(-len(tiles) // COLUMNS)
    whole = Image.new("RGB", (COLUMNS * (WIDTH + 6) - 6, rows * (HEIGHT + TITLE)), "white")
    for i, picture in enumerate(tiles):
        whole.paste(picture, (i % COLUMNS * (WIDTH + 6), i // COLUMNS * (HEIGHT + TITLE)))
    whole.save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
