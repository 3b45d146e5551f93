"""A job whose numbers are inputs of the formulas that a record states."""

from __future__ import annotations

from msgspec.structs import replace

from whichgpu.engine.core import Traced, is_number, marked
from whichgpu.engine.sizing.job import Job


#: What a field of a job is called as a fact, where it has another name.
_FACTS = {
    "params_b": "param_count_b",
    "active_params_b": "active_param_count_b",
    "micro_batch": "batch_size_per_gpu",
    "models_served": "num_models_served",
    "gradient_accumulation": "grad_accum_steps",
    "global_batch": "global_batch_size",
    "lookups": "embedding_lookups",
    "lookup_width": "embedding_width",
}


def traced_job(job: Job) -> Job:
    """A job whose numbers are named as facts are; what is 0 takes no part."""
    numbers = {
        name: Traced(value, _FACTS.get(name, name), source="the job as it is sized")
        for name in job.__struct_fields__
        if is_number(value := getattr(job, name)) and value
    }
    shape = job.shape
    if shape is not None:
        source = f"models: {job.model.id}" if job.model is not None else "a typical model of the size"
        sizes = {
            name: marked(value, f"model.{name}", source)
            for name in shape.__struct_fields__
            if (value := getattr(shape, name))
        }
        shape = replace(shape, **sizes)
    model = marked(job.model, "model", f"models: {job.model.id}") if job.model is not None else None
    return replace(job, **numbers, shape=shape, model=model)
