"""A real browser, trained networks, and the explorer's page opened on one of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page, sync_playwright
from torch import Tensor

from slowfade import cli
from slowfade.training import Run, open_run

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
QUIETLY = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Long enough for a machine that has much else to do.
PATIENCE = 60_000

TEXT = "the_cat_sat_on_the_mat.\n_and_so_it_did,_again_and_again.\n"
REVIEWS = {
    "pos": "A film I don't regret. It's a gem, well-made and warm!",
    "neg": "A bore. The plot isn't there, and the cast can't act...",
}

#: Small networks of every kind that the page shows, by name.
NETWORKS = {
    "copying": "copying --delay 5 --hidden 24",
    "chrono": "copying --core chrono --delay 3:6 --hidden 16",
    "async": "frequency --hidden 12",
    "adding": "adding --core lstm --length 30 --hidden 8 --layers 2",
    "characters": "characters --length 30 --hidden 16",
    "sentiment": "sentiment --hidden 12 --dictionary 30",
    "gru": "copying --core gru --delay 5 --hidden 8",
    "large": "copying --delay 380 --hidden 512",
    "largest": "copying --delay 980 --hidden 1024",
}
COUNTED = ("copying", "frequency", "adding")
"""Tasks that make as many sequences as they are told."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"there is no browser here: none of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=QUIETLY)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A little English in the formats of the real data sets, where the tasks find it."""
    folder = tmp_path_factory.mktemp("data")
    for split, times in (("train", 40), ("valid", 4), ("test", 4)):
        (folder / f"ptb.char.{split}.txt").write_text(" ".join(TEXT.replace("\n", "\n ") * times))
    for half in ("train", "test"):
        for side, text in REVIEWS.items():
            (folder / "aclImdb" / half / side).mkdir(parents=True)
            for number in range(8):
                (folder / "aclImdb" / half / side / f"{number}_1.txt").write_text(" ".join([text] * (1 + number % 3)))
    words = sorted(set(re.findall(r"[a-z']+|[.,!]", " ".join(REVIEWS.values()).lower())))
    rows = [" ".join([word, *(f"{x:.5f}" for x in torch.randn(100).tolist())]) for word in words]
    (folder / "glove.6B.100d.txt").write_text("\n".join(rows) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOWFADE_DATA", str(folder))
        patch.setenv("SLOWFADE_CACHE", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="module")
def trained(small_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """One of the networks by name, trained for a few steps."""
    folder = tmp_path_factory.mktemp("runs")

    def run(name: str) -> Run:
        out = folder / name
        if not out.exists():
            flags = NETWORKS[name].split()
            # One sequence is enough where it is a long one.
            few = ["--batch-size", "1", "--train-sequences", "1", "--validation-sequences", "1"]
            some = ["--train-sequences", "12", "--validation-sequences", "30"] if flags[0] in COUNTED else []
            flags += few if "large" in name else ["--batch-size", "4", *some]
            flags += ["--max-steps", "1" if "large" in name else "3", "--quiet", "--out", str(out)]
            assert cli.main(["train", *flags]) == 0
        return open_run(out)

    return run


class Explorer:
    """The page on a run, and what is to be seen on it."""

    def __init__(self, page: Page, run: Run) -> None:
        self.page, self.run = page, run
        self.complaints: list[str] = []
        self.asked_for: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked_for.append(request.url))

    def open(self, address: str) -> Explorer:
        self.page.goto(address)
        self.page.wait_for_function("document.body.dataset.drawn")
        return self

    def redrawn(self, action: Callable[[], object]) -> None:
        """Do something, and wait until it is drawn."""
        before = self.page.evaluate("document.body.dataset.drawn")
        action()
        self.page.wait_for_function("before => document.body.dataset.drawn !== before && !running", arg=before)

    def set(self, name: str, value: object) -> None:
        """Type into a field, and wait until it is drawn."""
        self.redrawn(lambda: self.type(name, value))

    def type(self, name: str, value: object) -> None:
        field = self.page.locator(f"#{name}")
        field.fill(str(value))
        field.press("Enter")

    def click(self, name: str) -> None:
        self.redrawn(lambda: self.page.locator(f"#{name}").click())

    def select(self, order: str) -> None:
        self.redrawn(lambda: self.page.locator("#order").select_option(order))

    def text(self, name: str) -> str:
        """As it is to be read."""
        return " ".join(self.page.locator(f"#{name}").inner_text().split())

    def value(self, name: str) -> str:
        return self.page.locator(f"#{name}").input_value()

    def curves(self, plot: str) -> list[dict[str, Any]]:
        """What a plot of lines shows."""
        return self.page.evaluate(
            "plot => document.getElementById(plot).data.map(({ x, y, name }) => ({ x, y: Array.from(y), name }))", plot
        )

    def rows(self) -> list[int]:
        """The units of the heat maps, from above."""
        names = self.page.evaluate("document.getElementById('maps').data[0].y")
        return [int(name.removeprefix("unit ")) for name in names]

    def maps(self) -> dict[str, Tensor]:
        """The values of the heat maps by name, (T, H), as hovering tells them; units by number."""
        found = self.page.evaluate(
            """document.getElementById("maps").data.map(
              ({ name, customdata }) => [name, customdata.map((row) => [...row])])"""
        )
        back = torch.tensor(self.rows()).argsort()
        return {name: torch.tensor(rows)[back].T for name, rows in found}

    def in_map(self, n: int, row: int, step: int) -> tuple[float, float]:
        """Where a value is on the screen: of which map, which row from above, which step."""
        self.page.locator("#maps").scroll_into_view_if_needed()
        return self.page.evaluate(
            """([n, row, step]) => {
              const plot = document.getElementById("maps"), { left, top } = plot.getBoundingClientRect();
              const { xaxis, yaxis } = plot._fullLayout._plots[n ? `x${n + 1}y${n + 1}` : "xy"];
              return [left + xaxis._offset + xaxis.l2p(step), top + yaxis._offset + yaxis.l2p(row)];
            }""",
            [n, row, step],
        )

    def start_again(self) -> None:
        """As if it were opened for the first time."""
        self.page.reload()
        self.page.wait_for_function("document.body.dataset.drawn")


@pytest.fixture(scope="module")
def opened(
    chromium: Browser, trained: Callable[[str], Run], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Explorer]]:
    """The page on one of the networks by name, opened from disk once and as new for every test.

    At the end nothing was said on any console, and nothing was asked of any network.
    """
    folder, pages = tmp_path_factory.mktemp("pages"), {}

    def explorer(name: str) -> Explorer:
        if name in pages:
            pages[name].start_again()
        else:
            run, page = trained(name), folder / f"{name}.html"
            assert cli.main(["explore", str(run.path), "--out", str(page)]) == 0
            context = chromium.new_context(viewport={"width": 1280, "height": 900}, offline=True)
            pages[name] = Explorer(context.new_page(), run).open(page.as_uri())
        return pages[name]

    yield explorer
    for page in pages.values():
        assert page.complaints == []
        assert all(address.startswith(("file:", "blob:", "data:")) for address in page.asked_for)
