"""Texts of the speed figures for answers and records: unit, formula in words, and measured band, by job kind."""

from __future__ import annotations

from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.support import looks_up


#: By name.
UNITS = {
    "tokens_per_s": "tokens/s",
    "samples_per_s": "samples/s",
    "requests_per_s": "requests/s",
    "images_per_s": "images/s",
    "input_tokens_per_s": "tokens/s",
    "audio_hours_per_hour": "h/h",
    "capacity_audio_hours_per_hour": "h/h",
    "steps_per_s": "steps/s",
    "qps": "requests/s",
    **{f"{name}{of}_ms": "ms" for name in ("ttft", "tpot", "latency") for of in ("", "_p95", "_p99")},
    "latency_mean_ms": "ms",
    "in_flight": "requests",
    "utilization": "share of capacity",
    "overloaded": "1 or 0",
    "capacity_tokens_per_s": "tokens/s",
    "capacity_samples_per_s": "samples/s",
    "step_s": "s",
    "hours": "h",
    "max_concurrency": "requests",
    "max_streams": "streams",
    "mfu": "share of peak",
}
#: Of a batch job whose requests are known in all.
_RUN = "requests in all / requests per second, no less than one takes"
#: Of served language models.
SERVING_WORDS = {
    "tpot_ms": "a step of those in flight / tokens accepted + others in flight x what a prompt adds / output tokens",
    "ttft_ms": "request overhead + the prompt's own pass + the prompts before it + the wait for a place",
    "latency_ms": "time to first token + (output tokens - 1) x time per token",
    "latency_mean_ms": "the same of the means",
    "requests_per_s": "requests in flight / mean time of an answer; as stated where the load is a rate",
    "tokens_per_s": "requests per second x output tokens",
    "in_flight": "requests per second x mean time of an answer (Little's law)",
    "utilization": "requests per second / requests per second of full replicas",
    "overloaded": "the stated rate is more than full replicas answer",
    "capacity_tokens_per_s": "output tokens x requests in flight of full replicas / time of their answers",
    "qps": "requests per second that keep the targets, at most the share of capacity planned for",
    "hours": _RUN,
    "max_concurrency": "(memory left beside weights and reserve) / cache per sequence, all replicas",
    **{
        f"{name}_{of}_ms": "the median, and the tail of the waits before it"
        for name in ("ttft", "tpot", "latency")
        for of in ("p95", "p99")
    },
}
_TRAINING_WORDS = {
    "tokens_per_s": "tokens per step / seconds per step",
    "samples_per_s": "tokens per second / sequence length",
    "step_s": "micro-batches x (products / (peak x share) + attention + bytes between them / bandwidth + exchanges) x"
    " pipeline bubble + gradients not hidden + optimiser",
    "hours": "stated tokens, steps or samples / rate",
    "mfu": "model FLOPs (6 N, adapters 4 N, + attention) x tokens per second / (GPUs x dense peak)",
}
_BATCH_WORDS = {
    "hours": _RUN,
    "requests_per_s": "requests in flight / mean time of an answer; as stated where the load is a rate",
    "in_flight": SERVING_WORDS["in_flight"],
    "utilization": "requests per second / requests per second of full batches",
    "overloaded": "the stated rate is more than full batches answer",
    "capacity_samples_per_s": "requests of a full batch / time of it, all replicas",
    "latency_mean_ms": "time of the batch + the rest of the one before it + the queue before full batches; one queue"
    " feeds all replicas where pictures pass one by one",
    "latency_p95_ms": "the median, and the tail of the waits before it",
    "latency_p99_ms": "the median, and the tail of the waits before it",
    "qps": "requests per second that keep the targets, at most the share of capacity planned for",
}
_NETWORK_WORDS = {
    **_BATCH_WORDS,
    "images_per_s": "GPUs / (FLOPs of an image / (peak x share used) + bytes of its maps / bandwidth); in training no"
    " step is shorter than its kernels take to start, and ranks exchange gradients, and divided weights",
    "samples_per_s": "GPUs / (FLOPs of a sample / (peak x share used) + bytes of its maps / bandwidth); in training no"
    " step is shorter than its kernels take to start, and ranks exchange gradients, and divided weights",
    "audio_hours_per_hour": "windows per second x seconds of sound in each",
    "capacity_audio_hours_per_hour": "windows of full batches per second x seconds of sound in each",
    "max_streams": "requests per second that keep the targets / frames per second of a stream",
    "latency_ms": "FLOPs / (peak x share used) + bytes of its maps / bandwidth + the server's time; and the wait",
}
_TRAINED_NETWORK_WORDS = {
    **_NETWORK_WORDS,
    "step_s": "batch / samples per second",
    "hours": "stated samples, or steps x batch, / samples per second",
}
_DENOISING_WORDS = {
    **_NETWORK_WORDS,
    "images_per_s": "steps per second / denoising steps",
    "samples_per_s": "steps per second / denoising steps",
    "steps_per_s": "denoising steps x GPUs / (seconds of the steps, of encoding the prompt and of decoding)",
    "latency_ms": "denoising steps x guidance passes x (products / (peak x share) + attention + bytes between them /"
    " bandwidth) x samples together, no less than the kernels take to start, + encoding and decoding; and the wait",
}
_LOOKUP_WORDS = {
    **_BATCH_WORDS,
    "samples_per_s": "batch / (start of its kernels + batch x look-ups x bytes of a vector / bandwidth), all replicas",
    "latency_ms": "start of the kernels + look-ups x bytes of a vector / (bandwidth x share used); and the wait",
}
_SPEECH_WORDS = {
    **_NETWORK_WORDS,
    "samples_per_s": "GPUs x share / (encoder / (peak x share used) + tokens of text x (decoder / batch + keys and"
    " values of the sound) / bandwidth, no less than the start of kernels)",
    "tokens_per_s": "samples per second x tokens of text in each",
}
_ENCODER_WORDS = {
    **_BATCH_WORDS,
    "latency_ms": "(2 N T + attention) / (peak x share used) + request overhead: one pass answers; and the wait",
    "samples_per_s": "requests per second",
    "input_tokens_per_s": "requests per second x tokens read by each",
}
#: Which measured band a figure of serving has.
BANDED = {
    **dict.fromkeys(("tokens_per_s", "requests_per_s", "capacity_tokens_per_s", "qps", "hours"), "rates"),
    **{f"{name}{of}_ms": "token" for name in ("tpot", "latency") for of in ("", "_p95", "_p99", "_mean")},
    **{f"ttft{of}_ms": "first" for of in ("", "_p95", "_p99")},
}
#: By which source all of them are.
SOURCE = "knowledge/speed.yaml: roofline with measured shares"


def words_of(job: Job) -> dict[str, str]:
    """How each figure of such a job is computed, by name."""
    if looks_up(job):
        return _LOOKUP_WORDS
    if job.shape is None:
        served = {"speech": _SPEECH_WORDS, "diffusion_image": _DENOISING_WORDS, "diffusion_video": _DENOISING_WORDS}
        return _TRAINED_NETWORK_WORDS if job.training else served.get(job.family, _NETWORK_WORDS)
    if job.training:
        return _TRAINING_WORDS
    return _ENCODER_WORDS if job.family == "encoder" else SERVING_WORDS
