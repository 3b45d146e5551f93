"""Bytes of an answer where the loss of pairs takes log-probabilities of it: ``python benchmarks/lab/pairs.py``.

As TRL's trainers do it (huggingface/trl, trl/trainer/utils.py, selective_log_softmax; pull request 2799): row by row,
of the policy and then of a frozen reference, whose answers are there while the policy's wait for the backward pass.
Under autocast accelerate hands answers on in 32 bits (src/accelerate/utils/operations.py, convert_outputs_to_fp32).
Nothing is computed; what lives is counted.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch.nn import functional
from tracer import LiveStorages, fake_device


TOKENS, WORDS, WIDTH = 1024, 151936, 64


def selected(answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of the labels, as TRL takes them: of 16 bits by the softmax of each row, else by its sum."""
    places = labels.unsqueeze(-1)
    if answers.dtype is torch.float32:
        found = torch.gather(answers, -1, places).squeeze(-1)
        return found - torch.stack([torch.logsumexp(row, dim=-1) for row in answers])
    rows = zip(answers, places, strict=True)
    return torch.stack([functional.log_softmax(row, dim=-1).gather(-1, place) for row, place in rows]).squeeze(-1)


def bytes_of_an_answer(rows: int, *, autocasts: bool) -> tuple[float, float]:
    """Bytes a token and word at the peak of the forward pass, and of the backward pass, of ``rows`` sequences."""
    with fake_device(), LiveStorages() as live:
        stream = torch.empty(rows, TOKENS, WIDTH, dtype=torch.bfloat16, requires_grad=True)
        head = torch.empty(WORDS, WIDTH, dtype=torch.bfloat16)
        labels = torch.zeros(rows, TOKENS, dtype=torch.int64)
        before = live.now
        live.restart()

        def answered() -> torch.Tensor:
            answers = functional.linear(stream, head)
            return answers.float() if autocasts else answers

        def loss_of_pairs() -> torch.Tensor:
            answers = answered()
            policy = selected(answers[:, :-1], labels[:, 1:])
            with torch.no_grad():
                others = answered()
                reference = selected(others[:, :-1], labels[:, 1:])
            return -functional.logsigmoid((policy - reference).sum(1)).mean()

        with torch.autocast("cpu", torch.bfloat16) if autocasts else nullcontext():
            loss = loss_of_pairs()
        forward = live.peak - before
        live.restart()
        loss.backward()
        answers = rows * TOKENS * WORDS
        return forward / answers, (live.peak - before) / answers


def main() -> None:
    """Print both peaks for one row, which a pack is, and for more."""
    for autocasts in (False, True):
        for rows in (1, 2, 8):
            forward, backward = bytes_of_an_answer(rows, autocasts=autocasts)
            told = "autocast" if autocasts else "16 bits"
            print(f"{told}, {rows} rows: forward {forward:.1f}, backward {backward:.1f} bytes a token and word")


if __name__ == "__main__":
    main()
