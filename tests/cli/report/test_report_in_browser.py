"""The page in a real browser: both colour schemes, a phone's width, and paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
EXAMPLE = str(Path(__file__).parents[3] / "examples" / "lab-rent-or-buy.yaml")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed here")

Whichgpu = Callable[..., Any]


def browse(folder: Path, *arguments: str) -> str:
    assert BROWSER is not None
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603 - our own words
    return done.stdout


@pytest.fixture
def page(whichgpu: Whichgpu, tmp_path: Path) -> Path:
    record, page = tmp_path / "record.json", tmp_path / "report.html"
    assert whichgpu("recommend", EXAMPLE, "--save", str(record)).code == 0
    assert whichgpu("report", str(record), "-o", str(page)).code == 0
    return page


def measured(page: Path, css: str, script: str) -> str:
    """What a script sees on a copy of the page that lets scripts run; the page itself allows none."""
    text = page.read_text()
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*/>', text)
    assert policy
    opened = text.replace(policy[0], "").replace("<details>", "<details open>")
    extra = f"<style>{css}</style><script>document.title = 'measured ' + ({script})</script></body>"
    copy = page.with_name("measured.html")
    copy.write_text(opened.replace("</body>", extra))
    found = re.search(
        r"<title>measured (.*?)</title>", browse(page.parent, "--window-size=500,900", "--dump-dom", copy.as_uri())
    )
    assert found
    return found[1]


def test_it_renders_in_light_and_dark(page: Path) -> None:
    shots = []
    for name, scheme in (("light", "1"), ("dark", "0")):
        shot = page.with_name(f"{name}.png")
        browse(
            page.parent,
            f"--blink-settings=preferredColorScheme={scheme}",
            "--window-size=900,1200",
            f"--screenshot={shot}",
            page.as_uri(),
        )
        shots.append(shot.read_bytes())
    assert all(shot.startswith(b"\x89PNG") and len(shot) > 20_000 for shot in shots)
    assert shots[0] != shots[1]


def test_nothing_hangs_over_at_a_phone_s_width(page: Path) -> None:
    css = "html { width: 360px; }"
    over = (
        "[...document.querySelectorAll('main *, header *')].filter(e => e.getBoundingClientRect().right > 361"
        " && !e.closest('.scroll') && !e.closest('svg'))"
        ".map(e => e.tagName + ':' + e.textContent.slice(0, 40)).join('|')"
    )
    assert measured(page, css, over) == ""


@pytest.fixture
def fleet_page(whichgpu: Whichgpu, tmp_path: Path) -> Path:
    jobs, out, page = tmp_path / "jobs.csv", tmp_path / "out", tmp_path / "fleet.html"
    team = "the group for applied research in speech, sound and everything that can be heard"
    jobs.write_text(f'id,team,task,model_name,gpu,gpus,h\n1,"{team}",inference,llama-3.1-8b,h100,1,700\n')
    (tmp_path / "map.yaml").write_text(
        "id: id\nteam: team\nfacts: {task: task, model_name: model_name}\n"
        "then: {gpu: gpu, count: gpus, hours: {column: h, unit: h}}\n"
    )
    ran = whichgpu("fleet", str(jobs), "--map", str(tmp_path / "map.yaml"), "-o", str(out), "--processes", "1")
    assert ran.code == 0, ran.err
    assert whichgpu("fleet", "report", str(out), "-o", str(page)).code == 0
    return page


@pytest.mark.parametrize("which", ["page", "fleet_page"])
def test_charts_fit_a_phone_and_their_words_stand_apart(which: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(which)
    css = "html { width: 360px; }"
    wide = "[...document.querySelectorAll('svg')].filter(e => e.getBoundingClientRect().right > 361).length"
    assert measured(page, css, wide) == "0"
    # Of the words over a bar, and of words and the upright lines of the axis.
    over = (
        "(() => { const boxes = [...document.querySelectorAll('svg.chart')].flatMap(svg => {"
        " const things = [...svg.querySelectorAll('text, line.axis')].map(e => [e, e.getBoundingClientRect()]);"
        " return things.flatMap(([e, a], i) => things.slice(i + 1).filter(([f, b]) =>"
        " (e.tagName == 'text' || f.tagName == 'text') && a.width >= 0 &&"
        " a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)"
        " .map(([f]) => e.textContent + ' / ' + f.textContent)); }); return boxes.join('|'); })()"
    )
    assert measured(page, css, over) == ""
    assert measured(page, "", over) == ""


def printed_pages(page: Path) -> int:
    paper = page.with_name("report.pdf")
    browse(page.parent, "--no-pdf-header-footer", f"--print-to-pdf={paper}", page.as_uri())
    raw = paper.read_bytes()
    assert raw.startswith(b"%PDF")
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", raw))


def test_it_prints_what_a_committee_reads_and_the_appendix_where_it_is_unfolded(page: Path) -> None:
    short = printed_pages(page)
    assert short <= 5
    page.write_text(page.read_text().replace('<details class="appendix">', '<details class="appendix" open>'))
    assert printed_pages(page) > short + 2
