"""Source or heuristic that does not exist.

Why: a reference that leads nowhere is worse than none, for it looks like evidence.

Bad::

      sources: [ftp/3.4]

Good::

      sources: [fpt/3.4]

Silence: put ``# lint: allow dead-source: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.rules.rulebook.provenance import source_heads


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        named = [("source", name, context.known.sources) for name in rule.sources]
        named += [("heuristic", name, context.known.heuristics) for name in rule.encodes]
        for what, name, known in named:
            # A source may go on with /section, a heuristic may not.
            heads = {name} if what == "heuristic" else source_heads(name)
            if known and not known.intersection(heads):
                nearest = nearest_words(min(heads, key=len), sorted(known), limit=1)
                fix = None if nearest else f"add the {what}, or name another"
                yield CHECK.about(
                    rule, f"{rule.id} names the {what} {name!r}, which does not exist", nearest=nearest, fix=fix
                )


CHECK = Check("dead-source", "error", _run, __doc__ or "")
