"""Pages that a script writes and a person comments: what stands under ``## Known limits`` and below is kept.

A script writes its page anew with every ``--write``. Comments that no script can know (causes of misses, what was
tried, earlier figures) stand in sections at the end of the page, from the heading ``## Known limits`` on.
"""

from __future__ import annotations

from pathlib import Path


#: From this heading on a page is written by hand.
BY_HAND = "## Known limits\n"


def write_page(page: Path, generated: str) -> None:
    """Write the generated part, with the hand-written sections of the page as it stands."""
    kept = page.read_text(encoding="utf-8") if page.exists() else ""
    page.write_text(with_hand_written(generated, kept), encoding="utf-8")


def with_hand_written(generated: str, kept: str) -> str:
    """The generated text, followed by what ``kept`` has from ``## Known limits`` on; without such a part as it is."""
    _, heading, comment = kept.partition(f"\n{BY_HAND}")
    return f"{generated.rstrip()}\n{heading}{comment}" if heading else generated
