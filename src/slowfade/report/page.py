"""One self-contained HTML page with all studies found: no network, light and dark, fit for print."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from slowfade.report.environment import environment
from slowfade.studies import STUDIES, Verdict, style
from slowfade.studies.findings import FINDINGS, Findings, read

TITLE = "Slower is better, run again"


def render(folders: Sequence[Path]) -> str:
    """The page, studies in the paper's order; those without findings are named as not run.

    Args:
        folders: of the studies, with findings and figures in each.
    """
    found = [(read(folder / FINDINGS), folder) for folder in folders]
    found.sort(key=lambda item: (list(STUDIES).index(item[0].study), item[0].preset))
    names = {findings.study for findings, _ in found}
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=TITLE,
            verdicts=[verdict.value for verdict in Verdict],
            sections=[_section(findings, folder) for findings, folder in found],
            not_run=[study.title for study in STUDIES.values() if study.name not in names],
        )
    )


def _section(findings: Findings, folder: Path) -> dict[str, Any]:
    study, claims = findings.about, findings.claims
    counts = Counter(claim.verdict for claim in claims)
    name = f"{findings.study}-{findings.preset}"
    return {
        "id": name,
        "title": study.title,
        "place": study.place,
        "about": study.about,
        "preset": findings.preset,
        "departure": study.scales[findings.preset].departure,
        "not_run": findings.not_run,
        "counts": [counts[verdict] for verdict in Verdict],
        "claims": claims,
        "tables": findings.tables,
        "figures": [
            (inline((folder / f"{key}.svg").read_text("utf-8"), f"{name}-{key}", caption), caption)
            for key, caption in zip(findings.figures, study.captions, strict=False)
        ],
        "runs": findings.runs,
        "settings": differing(findings.runs),
        "versions": findings.versions,
        "machine": findings.machine,
    }


def differing(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Which settings are not the same in all runs that have them; seed and units have their own columns."""
    found: dict[str, set[str]] = {}
    for run in runs:
        for name, value in run["settings"].items():
            found.setdefault(name, set()).add(str(value))
    return [name for name, values in found.items() if len(values) > 1 and name not in ("seed", "hidden")]


def inline(svg: str, name: str, label: str = "") -> str:
    """A figure fit to stand in the page with others: its text in the page's colour, its names its own.

    Of the names that matplotlib gives to every part only those stay that something refers to.
    """
    svg = svg[svg.index("<svg") :]
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r"(url\(#|href=\"#)", rf"\g<1>{name}-", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    label = f' aria-label="{escape(label)}"' if label else ""
    return svg.replace(style.INK, "currentColor").replace("<svg ", f'<svg role="img"{label} ', 1)
