"""Spellings of GPU names: to one exact form, and to the set of words that distinguish cards."""

from __future__ import annotations

import re


_SEPARATORS = re.compile(r"[\s_/,:()\[\]-]+")
#: Words that every seller adds and that distinguish no two cards.
_NOISE = frozenset(
    (
        "a",
        "accelerator",
        "amazon",
        "amd",
        "ampere",
        "an",
        "apple",
        "aws",
        "blackwell",
        "card",
        "chip",
        "cloud",
        "edition",
        "gddr6",
        "gddr6x",
        "gddr7",
        "geforce",
        "gen",
        "generation",
        "google",
        "gpu",
        "gpus",
        "graphics",
        "habana",
        "hbm2",
        "hbm2e",
        "hbm3",
        "hbm3e",
        "hgx",
        "hopper",
        "instinct",
        "intel",
        "memory",
        "new",
        "nvidia",
        "nvlink",
        "oam",
        "quadro",
        "r",
        "radeon",
        "ram",
        "server",
        "single",
        "tesla",
        "the",
        "tm",
        "vram",
        "workstation",
    )
)
#: Words for the cooling of a card, of which some cards are sold in two: passive for servers, with fans for desks.
EDITIONS = frozenset(("server-edition", "workstation-edition"))
_REWRITES = (
    (re.compile(r"\bquadro (rtx \d000)\b"), r"turing \1"),  # Later cards have the same numbers and no such word.
    (re.compile(r"(?<=\d)(pcie|nvl|sxm\d?)\b"), r" \1"),
    (re.compile(r"\bsxm\d\b"), "sxm"),
    (re.compile(r"\bpci\b|\bpci e\b|\bpci express\b"), "pcie"),
    (re.compile(r"\b(\d+) ?(gib|gb|g)\b"), r"\1gb"),
    (re.compile(r"\b(rtx|gtx|rx|arc|dgx|tpu|gaudi)(?=\d|a\d|v\d|pro)"), r"\1 "),
    (re.compile(r"\b(\d{4})(ti)?(super|xtx|xt)?\b"), r"\1 \2 \3"),
    (re.compile(r"\b(ti)(super)\b"), r"\1 \2"),
    (re.compile(r"\b([ahblv])[ ](\d{2,3})\b"), r"\1\2"),
    (re.compile(r"\b(mi) (\d{3}[xa]?)\b"), r"\1\2"),
    (re.compile(r"\b(\d+) ?x (?=[a-z])|\bx ?\d+\b"), ""),
    (re.compile(r"\b(trainium|inferentia|gaudi) (\d)\b"), r"\1\2"),
    (re.compile(r"(\brtx pro \d.*) (?:server|se)\b"), r"\1 server-edition"),
    (re.compile(r"(\brtx pro \d.*) (?:workstation|ws|wk)\b"), r"\1 workstation-edition"),
)


def exact_form(name: str) -> str:
    """The name folded in case and separators, nothing dropped: ``RTX 4090`` and ``rtx-4090`` are the same."""
    return _SEPARATORS.sub("-", name.strip().casefold()).strip("-")


def distinctive_words(name: str) -> frozenset[str]:
    """The words of a name that distinguish cards: ``NVIDIA A100-SXM4-80GB`` gives a100, sxm, 80gb."""
    text = _SEPARATORS.sub(" ", name.strip().casefold())
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return frozenset(text.split()) - _NOISE


def only_form_or_memory(words: frozenset[str]) -> bool:
    """Whether all words state a form (sxm, pcie, nvl) or a memory size, and none a model."""
    return all(word in {"sxm", "pcie", "nvl"} or re.fullmatch(r"\d+gb", word) for word in words)


def memory_word(words: frozenset[str]) -> str | None:
    """The word that states a memory size, such as 80gb, if there is exactly one."""
    sizes = [word for word in words if re.fullmatch(r"\d+gb", word)]
    return sizes[0] if len(sizes) == 1 else None
