"""What a training job under offload leaves in the memory of its hosts, which its machines must have."""

from __future__ import annotations

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.states import WEIGHTS_STAY, splits_models, state_bytes


#: Bytes of a parameter in 16 bits.
_HALF = 2.0


def offloaded_gb(job: Job) -> float:
    """GB that wait in system memory while a step is computed, of all machines together; 0 without offload.

    What ranks share lies there once: weights, gradients and optimizer state of everything that learns, or what is
    frozen under adapters. Below ZeRO's third stage, in the manner of Megatron, and where the optimizer's state alone is
    offloaded, weights stay on the GPU. What is held twice to be sent faster (pinned memory) is not counted. Of networks
    without a known architecture it is 0.
    """
    if not (job.cpu_offload and job.training and job.shape is not None):
        return 0.0
    per, params = state_bytes(job), job.shape.params
    stay = job.sharding in WEIGHTS_STAY or splits_models(job) or job.weights_not_offloaded
    if job.peft:
        base = sizing_constants().weights[job.weight_precision].body
        return 0.0 if stay else (params * base + job.resident_params_b * 1e9 * _HALF) / 1e9
    learnt = per.gradients + per.optimizer + (0.0 if stay else per.weights)
    beside = 0.0 if stay else job.resident_params_b * _HALF
    return (params / 1e9 + job.critic_params_b) * learnt + beside
