"""A run over many jobs as a person sees it: how far it is, what Ctrl-C keeps, what it came to."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

from whichgpu import Advisor
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.fleet import JobMap, Jobs, Manifest, Progress, Store, Workers, run_fleet


_MB = 1e6
#: Seconds between two lines where it is not watched, as in a log.
_EVERY = 30.0


def run_jobs(jobs: Jobs, job_map: JobMap, advisor: Advisor, workers: Workers, store: Store) -> None:
    """Decide the jobs, with how far it is on standard error."""
    shown = ProgressLine(store.manifest.rows)
    try:
        run_fleet(jobs, job_map, advisor, workers, store, shown.show)
    except KeyboardInterrupt:
        shown.end()
        rows = store.manifest.rows
        sys.stderr.write(
            f"Interrupted: {rows:,} rows are kept in {store.folder}. The same command goes on from there.\n"
        )
        raise
    finally:
        shown.end()
        workers.close()
        store.close()


class ProgressLine:
    """One line that is written over, or a line every half minute into a log."""

    def __init__(self, rows: int) -> None:
        self._watched = sys.stderr is not None and sys.stderr.isatty()
        self._begun = self._shown_at = time.monotonic()
        self._before = rows
        self._share: float | None = None

    def show(self, progress: Progress) -> None:
        """Show how far it is, at most four times a second."""
        moment = time.monotonic()
        if self._share is None:
            self._share = progress.share
        if moment - self._shown_at < (0.25 if self._watched else _EVERY):
            return
        self._shown_at = moment
        text = self._text(progress, moment - self._begun)
        sys.stderr.write(f"\r\x1b[K{text}" if self._watched else f"{text}\n")
        sys.stderr.flush()

    def _text(self, progress: Progress, seconds: float) -> str:
        rate = (progress.rows - self._before) / seconds if seconds else 0.0
        gone = progress.share - (self._share or 0.0)
        left = f", about {_long(seconds * (1 - progress.share) / gone)} left" if gone > 0 else ""
        errors = f", {progress.errors:,} wrong" if progress.errors else ""
        decisions = f"{progress.distinct:,} decided at {progress.distinct / seconds:,.0f}/s" if seconds else ""
        return f"{progress.rows:,} jobs, {rate:,.0f}/s ({decisions}){errors}, {100 * progress.share:.0f} %{left}"

    def end(self) -> None:
        """Clear the line."""
        if self._watched:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class RunSummary(NamedTuple):
    """What a run came to."""

    rows: int
    distinct: int
    errors: int
    internal: int
    bytes: int
    lost: int

    @classmethod
    def of(cls, manifest: Manifest) -> RunSummary:
        """The sums over the parts."""
        parts = manifest.parts
        sums = (sum(getattr(part, name) for part in parts) for name in ("distinct", "errors", "internal", "bytes"))
        distinct, errors, internal, length = sums
        return cls(manifest.rows, distinct, errors, internal, length, manifest.workers_lost)

    def sentence(self, target: Path) -> str:
        """The summary that is printed at the end."""
        wrong = f", {self.errors:,} of them wrong (whichgpu fleet report {target} says why)" if self.errors else ""
        lost = f" {self.lost} workers were lost; what they were at was decided again." if self.lost else ""
        each = f", {self.bytes / self.rows:,.0f} bytes a row" if self.rows else ""
        size = f"{self.bytes / 1e6:,.1f} MB" if self.bytes >= _MB else f"{self.bytes / 1e3:,.1f} kB"
        jobs, decisions = count_of(self.rows, "job"), count_of(self.distinct, "decision")
        return f"{jobs}{wrong}; {decisions}; {size}{each}, in {target}.{lost}\n"


def _long(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
