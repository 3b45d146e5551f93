"""Sizing a stated configuration: does this job fit these GPUs, with how much of what, and how fast?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.plans import memory_dict, parallelism_dict, speed_dict, support_dict
from whichgpu.engine.advisor.intake import Workload, read_count, unknown_gpu
from whichgpu.engine.core import InputError, Problem, json_value
from whichgpu.engine.plans import FitStep, FitSuggestions, fit_suggestions_of
from whichgpu.engine.sizing import granted_of


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import answer_types


def size_workload(
    advisor: Advisor, workload: Workload, *, gpu: str | None = None, count: int | None = None
) -> answer_types.SizeAnswer:
    """Memory, fit and speed of a workload on a configuration, as the ``size`` answer of the output contract.

    Args:
        advisor: the loaded advisor.
        workload: the job.
        gpu: any name of one accelerator; else the workload's ``gpu``, ``current_gpu`` or only candidate.
        count: how many; else the workload's ``count`` or ``num_gpus``, else 1.

    Raises:
        InputError: no accelerator is named, the name is unknown, the count is out of bounds, or the job's size
            is unknown.
    """
    with workload.located():
        intake, model = advisor.context.resolve(workload.given)
    gpu_id = _gpu_id(advisor, workload, gpu)
    asked = read_count(advisor.vocabulary, count)
    if asked.problems:
        raise InputError(asked.problems)
    number = count or workload.count or int(workload.given.get("num_gpus", 1))  # type: ignore[arg-type]
    maker = advisor.context.plan_maker(model, intake)
    sized_gpu = advisor.knowledge.gpus[gpu_id]
    plan = maker.plan(sized_gpu, number, "stated", layout=maker.layout_at_hand(sized_gpu, number))
    if plan.memory is None:
        missing = "the model's size is not known"
        fix = "add model_name, or param_count_b (billions of parameters)"
        raise InputError(Problem("size-unknown", f"the memory cannot be computed: {missing}", fix=fix))
    granted = granted_of(maker.job, plan.gpu)
    memory, suggestions = plan.memory, fit_suggestions_of(plan, maker)
    # Fits by the best estimate; tight where it lacks the margin that a recommendation keeps.
    fits = memory.per_gpu_gb <= granted if granted is not None else None
    answer: answer_types.SizeAnswer = {
        "id": workload.id,
        "gpu": plan.gpu.id,
        "count": plan.count,
        "fits": fits,
        "granted_per_gpu_gb": granted,
        "tight": fits and not plan.facts.get("plan.fits"),
        **memory_dict(memory, plan.count, plan.gpu.usable_gb),
        "speed": speed_dict(plan),
        "support": support_dict(plan),
        "link": plan.link,
        "parallelism": parallelism_dict(plan.layout),
        "terms": [
            {"name": term.name, "gb": term.value, "formula": term.formula, "inputs": term.inputs, "source": term.source}
            for term in memory.terms
        ],
        "fit_suggestions": _suggestions_dict(suggestions) if suggestions else None,
    }
    rounded: answer_types.SizeAnswer = json_value(answer)
    return rounded


def _suggestions_dict(suggestions: FitSuggestions) -> answer_types.FitSuggestions:
    return {
        "gpu": suggestions.gpu.id,
        "available_per_gpu_gb": suggestions.gpu.usable_gb,
        "changes": [_step_dict(step) for step in suggestions.steps],
        "together": [_step_dict(step) for step in suggestions.together],
    }


def _step_dict(step: FitStep) -> answer_types.FitChange:
    return {
        "change": step.change.id,
        "says": step.change.says,
        "facts": step.change.facts,
        "per_gpu_gb": step.per_gpu_gb,
        "fits": step.fits,
        "speed_ratio": step.speed_ratio,
        "costs": step.change.costs,
        "source": step.change.source,
    }


def _gpu_id(advisor: Advisor, workload: Workload, gpu: str | None) -> str:
    name = gpu or workload.gpu or workload.given.get("current_gpu")
    listed = workload.given.get("gpu_candidates", ())
    if name is None and isinstance(listed, tuple) and len(listed) == 1:
        name = str(listed[0])
    if name is None:
        fix = "add --gpu NAME, or 'gpu:' to the workload"
        raise InputError(Problem("no-gpu", "no GPU is named to size the job on", fact="gpu", fix=fix))
    match = advisor.knowledge.find_gpu(str(name))
    if not match.found:
        raise InputError(unknown_gpu(match, fact="gpu"))
    return match.usual
