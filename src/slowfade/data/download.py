"""Downloads: from the first mirror that has the right bytes, going on where a broken one stopped."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pooch
import requests
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from slowfade.data.dataset import Remote
from slowfade.data.store import explained
from slowfade.errors import UserError

log = logging.getLogger(__name__)

#: How often a mirror is asked for what is missing, as long as each time brings something.
ATTEMPTS = 5
#: Seconds to connect, and between two blocks.
PATIENCE = (10, 30)
#: A break loses at most this many bytes.
BLOCK = 2**14
NO_CONNECTION = "no connection"


def download(remote: Remote, folder: Path) -> Path:
    """The file, its checksum verified, in ``folder``. Until then it is ``file.part`` there.

    What a broken download has brought stays, for the next call to go on from, be it at another mirror. What has the
    wrong checksum, or no room on the disk, goes.
    """
    pooch.get_logger().setLevel(logging.WARNING)
    part = folder / f"{remote.file}.part"
    failures = []
    with explained(folder):
        folder.mkdir(exist_ok=True)
        for leftover in folder.glob("tmp*"):  # pooch's, of a process that was killed
            leftover.unlink()
        for url in remote.urls:
            for _ in range(ATTEMPTS):
                fetch = Resuming(part)
                try:
                    return Path(pooch.retrieve(url, f"sha256:{remote.sha256}", remote.file, folder, downloader=fetch))
                except requests.RequestException as error:
                    failure, again = _reason(error), fetch.received > 0
                except ValueError:
                    failure, again = "wrong checksum", fetch.resumed
                except OSError:
                    part.unlink(missing_ok=True)
                    raise
                log.info("%s: %s", url, failure)
                if not again:
                    break
            failures.append(f"{urlsplit(url).hostname}: {failure}")
    if all(failure.endswith(NO_CONNECTION) for failure in failures):
        failures = ["no network"]
    raise UserError(
        f"could not download {remote.file} ({'; '.join(failures)}): try again later, "
        f"or bring the data from elsewhere with `slowfade data import {folder.parent.name} PATH`"
    )


class Resuming:
    """A downloader for pooch that goes on from ``part`` and leaves it for the next if it is broken off."""

    def __init__(self, part: Path) -> None:
        self.part = part
        self.received = 0
        self.resumed = False

    def __call__(self, url: str, output_file: str, _: Any) -> None:
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
        with requests.get(url, headers=headers, stream=True, timeout=PATIENCE) as response:
            self.resumed = have > 0 and response.status_code in (206, 416)
            if response.status_code != 416:  # 416: nothing is missing
                response.raise_for_status()
                self._receive(response, url, have if self.resumed else 0)
        os.replace(self.part, output_file)

    def _receive(self, response: requests.Response, url: str, have: int) -> None:
        rest = response.headers.get("Content-Length")
        total = have + int(rest) if rest else None
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        with (
            self.part.open("ab" if have else "wb") as stream,
            Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress,
        ):
            description = f"{self.part.stem} from {urlsplit(url).hostname}"
            log.info("downloading %s", description)
            bar = progress.add_task(description, total=total, completed=have)
            for block in response.iter_content(BLOCK):
                stream.write(block)
                self.received += len(block)
                progress.update(bar, advance=len(block))
        if total is not None and have + self.received != total:
            raise requests.ConnectionError("broke off")


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "no answer"
    if isinstance(error, requests.exceptions.ChunkedEncodingError) or str(error) == "broke off":
        return "broke off"
    return NO_CONNECTION
