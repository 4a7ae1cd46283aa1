"""What MkDocs does not do by itself: pages from outside docs/, and all tasks in the navigation.

Pages can be read as files of the repository too. So they link to each other as files, and a link to a page outside
docs/ becomes one to its place in the site here. Code in tables has ``\\|`` for a bar, which is taken literally here.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
ELSEWHERE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "examples/deploy/README.md": "deployment.md"}
"""Pages outside docs/, as files of the repository, and where they are in the site."""
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
ROW, CODE = re.compile(r"^\|.*", re.MULTILINE), re.compile(r"`[^`]+`")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A folder in the navigation stands for its pages, the one that lists them first."""
    for section in config.nav or []:
        for title, item in section.items():
            if isinstance(item, str) and item.endswith("/"):
                names = sorted(path.name for path in (ROOT / "docs" / item).glob("*.md") if path.name != "README.md")
                section[title] = [f"{item}{name}" for name in ("README.md", *names)]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, place in ELSEWHERE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    place = page.file.src_uri
    source = next((name for name, uri in ELSEWHERE.items() if uri == place), f"docs/{place}")

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        uri = ELSEWHERE.get(target, target.removeprefix("docs/"))
        return posixpath.relpath(uri, posixpath.dirname(place) or ".")

    def row(match: re.Match[str]) -> str:
        return CODE.sub(lambda code: code[0].replace("\\|", "|"), match[0])

    return ROW.sub(row, LINK.sub(link, markdown))
