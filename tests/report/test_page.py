"""The report's page: whole in itself, true to the findings, fit for several studies."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from slowfade import cli
from slowfade.report.page import differing, inline
from slowfade.studies import STUDIES, style
from slowfade.studies.findings import FINDINGS, Findings, read


class Page(HTMLParser):
    """What a page refers to, and its names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name in ("href", "src", "xlink:href") and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.append(value)


def words(text: str) -> str:
    """What is to be read."""
    return " ".join(unescape(re.sub(r"<svg.*?</svg>|<[^>]+>", " ", text, flags=re.DOTALL)).split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was run and one that was not."""
    out = tmp_path_factory.mktemp("report")
    assert cli.main(["study", "resets", "--preset", "smoke", "--out", str(out / "smoke")]) == 0
    Findings("pixels", "laptop", "the data set mnist is not on this machine").save(out / "laptop" / "pixels")
    assert cli.main(["report", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def text(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_from_elsewhere(text: str) -> None:
    page = Page(text)
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert page.tags["script"] == page.tags["link"] == page.tags["img"] == 0
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_every_name_is_there_once_and_every_link_ends_somewhere(text: str) -> None:
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids)
    inside = [link[1:] for link in page.links if link.startswith("#")] + re.findall(r"url\(#([^)]+)\)", text)
    assert inside
    assert set(inside) <= set(page.ids)


def test_claims_tables_and_figures_are_all_on_the_page(folder: Path, text: str) -> None:
    flat = words(text)
    findings = read(folder / "smoke" / "resets" / FINDINGS)
    assert all(claim.text in flat for claim in findings.claims)
    assert all(cell in flat for table in findings.tables for line in table.lines for cell in line)
    assert Page(text).tags["svg"] == 2
    assert "a few steps of tiny networks" in flat


def test_what_was_not_run_is_said(text: str) -> None:
    flat = words(text)
    assert "the data set mnist is not on this machine" in flat
    not_run = re.search(r"Not run: ([^.]+)\.", flat)
    assert not_run is not None
    assert STUDIES["copying"].title in not_run[1]
    assert STUDIES["resets"].title not in not_run[1]


def test_light_dark_and_print(text: str) -> None:
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    # Figures take the page's colour for their text and axes.
    assert style.INK not in text[text.index("<main>") :]
    assert "currentColor" in text


def test_every_figure_says_what_it_shows_also_to_those_who_hear_it(text: str) -> None:
    captions = STUDIES["resets"].captions
    assert Page(text).tags["figcaption"] == len(captions)
    assert all(caption in words(text) for caption in captions)
    assert [unescape(label) for label in re.findall(r'aria-label="([^"]+)"', text)] == list(captions)


def test_what_the_runs_do_not_share_is_in_their_table(folder: Path, text: str) -> None:
    runs = read(folder / "smoke" / "resets" / FINDINGS).runs
    assert differing(runs) == ["delay"]
    assert "<th>delay</th>" in text
    assert all(run["settings"]["learning_rate"] == 1e-3 and run["commit"] for run in runs)
    assert f"<td>{runs[0]['commit'][:8]}</td>" in text


def test_versions_commit_and_machine_but_no_names_or_paths(folder: Path, text: str) -> None:
    found = json.loads((folder / "smoke" / "resets" / FINDINGS).read_text())
    assert found["versions"]["torch"] in text
    assert found["machine"]["processor"] in text
    assert str(folder) not in text
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", words(text))


def test_figures_and_tables_lie_beside(folder: Path) -> None:
    suffixes = Counter(path.suffix for path in (folder / "smoke" / "resets").iterdir())
    assert suffixes == {".svg": 2, ".pdf": 2, ".png": 2, ".csv": 3, ".md": 3, ".tex": 3, ".json": 1}


def test_names_in_a_figure_become_its_own() -> None:
    svg = (
        f'<?xml version="1.0"?><svg id="a" width="1"><metadata>x</metadata><g id="figure_1"><path id="mark" '
        f'style="stroke: {style.INK}"/><use xlink:href="#mark" clip-path="url(#box)"/></g><clipPath id="box"/></svg>'
    )
    assert inline(svg, "one") == (
        '<svg role="img" width="1"><g><path id="one-mark" style="stroke: currentColor"/>'
        '<use xlink:href="#one-mark" clip-path="url(#one-box)"/></g><clipPath id="one-box"/></svg>'
    )


def test_findings_of_a_study_that_is_not_there_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / FINDINGS).write_text('{"study": "forgetting", "preset": "laptop"}')
    assert cli.main(["report", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "a study 'forgetting', which this version of slowfade does not have" in line


def test_an_empty_folder_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "there are no studies in" in line
