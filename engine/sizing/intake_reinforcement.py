"""What only reinforcement learning asks of a job: models beside the one that learns, and where prompts are answered."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_training import Framework, Rollout
from whichgpu.engine.sizing.fact_reader import FactReader
from whichgpu.engine.sizing.job import Kind


#: The methods that sample answers of their own.
ONLINE = frozenset({"ppo", "grpo"})


def reinforcement_of(
    reader: FactReader, kind: Kind, defaults: Framework | None, params_b: float | None
) -> dict[str, Any]:
    """The fields of a job that reinforcement learning reads."""
    stated = reader.number("resident_params_b")
    method = reader.text("rl_method")
    if kind in {"inference", "pretraining"} or method in {None, "none"}:
        return {"resident_params_b": stated or 0.0}
    usual = sizing_constants().training.rollouts[(defaults.rollout if defaults is not None else None) or "other"]
    actor = params_b or 0.0
    fields: dict[str, Any] = {"rl_method": method, "models_take_turns": bool(reader.flag("models_take_turns"))}
    fields["resident_params_b"] = _frozen(reader, kind, method, usual, actor) if stated is None else stated
    if method == "ppo":
        critic = reader.number("critic_params_b")
        because = "a value model usually starts from the policy or a reward model of its size"
        fields["critic_params_b"] = reader.assume("critic_params_b", actor, because) if critic is None else critic
    return fields | (_rollout(reader, usual) if method in ONLINE else {})


def _frozen(reader: FactReader, kind: Kind, method: str | None, usual: Rollout, actor: float) -> float:
    """Billions of parameters of reference and reward model, where they are not stated."""
    # Adapters that are switched off leave the reference.
    reference = actor if (usual.reference or method != "grpo") and kind not in {"lora", "qlora"} else 0.0
    reward = actor if method == "ppo" else 0.0
    if reference + reward <= 0:
        return 0.0
    because = "a reference model, and for PPO a reward model, of the size of the trained one"
    return reader.assume("resident_params_b", reference + reward, because)


def _rollout(reader: FactReader, usual: Rollout) -> dict[str, Any]:
    placement = reader.text("rollout_placement")
    if placement is None:
        placement = reader.assume("rollout_placement", "same_gpus" if usual.here else "other_gpus", usual.source)
    written = reader.whole("output_tokens") if reader.known("output_tokens") else None
    if placement == "other_gpus":
        return {"answer_tokens": written}
    sleeps, share = reader.flag("rollout_sleeps"), reader.number("rollout_memory_pct")
    if sleeps is None:
        sleeps = reader.assume("rollout_sleeps", usual.sleeps, usual.source)
    assumed = share is None
    if share is None and usual.share is not None:
        share = reader.assume("rollout_memory_pct", 100.0 * usual.share, usual.source)
    return {
        "answer_tokens": written,
        "rollout_here": True,
        "rollout_sleeps": sleeps,
        "rollout_shares_weights": usual.shares_weights,
        "rollout_tensor": reader.whole("rollout_tensor_parallel"),
        "rollout_share": None if not share else min(share, 95.0) / 100.0,
        "rollout_share_assumed": assumed,
    }
