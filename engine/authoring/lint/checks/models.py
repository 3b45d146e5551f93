"""Checks over the models of the catalogue: where each is known from, what kind it is said to be, what size it has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, Severity, check
from whichgpu.engine.catalogue import ModelSpec, parameter_count


@check("error")
def model_known_by_its_runs(context: LintContext) -> Iterator[Finding]:
    """Model that only rows of measured runs mention.

    Why: a run shows what a model took, not how it is built. An entry made from one gives that run back and nothing
    else, and every estimate that is judged by the run looks better than it is.

    Bad::

        - id: acme-7b
          params_b: 7
          sources: [published-runs]

    Good: its configuration, or a published size, beside it::

        - id: acme-7b
          params_b: 7.24
          layers: 32
          sources: [transformers, published-runs]

    Sources of runs are those with ``runs: true`` in ``sources.yaml``.

    Silence: no remark silences it; cite another source.
    """
    for model in context.models.values():
        publishers = {source.partition("/")[0] for source in model.sources}
        if publishers and publishers <= context.run_sources:
            message = f"{model.id} is known from measured runs alone ({', '.join(sorted(publishers))})"
            yield _about("model-known-by-its-runs", "error", model, message, "cite a configuration or a published size")


#: Words of a name, and the kinds that they stand for.
_KINDS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = tuple(
    (re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])"), frozenset(kinds))
    for words, kinds in (
        (r"vl|vision|vlm|omni", ("multimodal", "vision", "encoder")),
        (r"text2image|t2i", ("diffusion_image",)),
        (r"text2video|t2v|i2v|v2v|ti2v|video2world", ("diffusion_video",)),
        (r"embed|embedding|embeddings|rerank|reranker", ("encoder", "multimodal")),
        (r"asr|tts|whisper", ("speech",)),
    )
)


@check("error")
def kind_of_a_sibling(context: LintContext) -> Iterator[Finding]:
    """Model whose kind is not the one that its name, an alias or its parts say.

    Why: an entry that was written after a sibling keeps the sibling's kind, and with it the wrong formulas. Two models
    under one id hide the same way: an alias says text to image, the entry video.

    Bad::

        - id: acme-2b
          aliases: [acme-2b-text2image]
          kind: diffusion_video

    Good: an entry for each variant::

        - id: acme-2b-text2image
          kind: diffusion_image
        - id: acme-2b-video2world
          kind: diffusion_video

    Silence: no remark silences it; give the entry its own kind.
    """
    for model in context.models.values():
        for name in (model.id, *model.aliases):
            kinds_named = next((kinds for pattern, kinds in _KINDS if pattern.search(_spaced(name))), None)
            if kinds_named and model.kind not in kinds_named:
                message = f"{model.id} is {model.kind}, and its name {name!r} says {' or '.join(sorted(kinds_named))}"
                yield _about("kind-of-a-sibling", "error", model, message, "give the variant an entry of its own")
                break
        else:
            if model.kind == "llm" and "vision_and_projector" in model.components_b:
                message = f"{model.id} is llm, and has an encoder of images or sound"
                yield _about("kind-of-a-sibling", "error", model, message, "make it multimodal")


#: A published size may be rounded by as much.
_MOST_PARAMETERS_OFF = 0.03


@check("error")
def size_beside_its_dimensions(context: LintContext) -> Iterator[Finding]:
    """Model whose size differs from what its dimensions give by more than 3 %.

    Why: memory follows from the size, the cache and the speed from the dimensions. Where they differ, one of them is
    another model's.

    Bad::

        - id: acme-moe
          params_b: 16.4
          intermediate: 10944     # and no experts

    Good: the experts; or ``dims_differ_because``, which makes it a thing worth knowing::

          dims_differ_because: the published count holds one more layer, for multi-token prediction

    Silence: no remark silences it; ``dims_differ_because`` says why.
    """
    for model in context.models.values():
        published, count = model.components_b.get("language", model.params_b), parameter_count(model)
        if count is None or not published:
            continue
        off = count.total / 1e9 / published - 1
        if abs(off) <= _MOST_PARAMETERS_OFF:
            continue
        message = f"{model.id} has {published:g} billion parameters, and its dimensions give {count.total / 1e9:.4g}"
        if model.dims_differ_because:
            message += f": {model.dims_differ_because}"
        severity: Severity = "info" if model.dims_differ_because else "error"
        fix = None if model.dims_differ_because else "put the dimensions right, or say why: dims_differ_because"
        yield _about("size-beside-its-dimensions", severity, model, message, fix)


def _about(name: str, severity: Severity, model: ModelSpec, message: str, fix: str | None) -> Finding:
    return Finding(name, severity, message, model.id, fix=fix)


def _spaced(name: str) -> str:
    """The last part of a name, in lower case with dashes."""
    return re.sub(r"[_ .]+", "-", name.rsplit("/", 1)[-1].casefold())
