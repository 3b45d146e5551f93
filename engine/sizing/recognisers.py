"""What a speech recogniser is made of: an encoder over a window of sound, and a decoder that writes its text."""

from __future__ import annotations

from typing import NamedTuple

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job


#: The program of Whisper's authors: it keeps 32 bits, and reads one window after the other.
WHISPER = "openai-whisper"
#: CTranslate2 under one of the programs for Whisper. It holds what the encoder gave once for all beams.
FASTER_WHISPER = "faster-whisper"


class Recogniser(NamedTuple):
    """Dimensions of a recogniser. Widths and layers that are not published are as usual for the size."""

    width: float
    encoder_layers: float
    decoder_layers: float  # 0: it writes no text token by token

    @property
    def encoder_params(self) -> float:
        """Parameters that each position of the sound passes: 12 h^2 a layer."""
        return 12.0 * self.width**2 * self.encoder_layers

    @property
    def decoder_params(self) -> float:
        """Parameters that each token of the text reads: 16 h^2 a layer, with the second attention, and the words."""
        words = sizing_constants().other.speech_vocab.value if self.decoder_layers else 0.0
        return self.width * (16.0 * self.width * self.decoder_layers + words)

    @property
    def heard_numbers(self) -> float:
        """Keys and values that the decoder keeps of each position of the sound."""
        return 2.0 * self.width * self.decoder_layers


def recogniser_of(job: Job, params_b: float) -> Recogniser:
    """The published dimensions of a job's recogniser; else those usual for its size, with as many layers in each part.

    Args:
        job: what is recognised, or trained.
        params_b: its size.
    """
    model = job.model
    if model is not None and model.hidden and model.decoder_layers is not None:
        layers = model.layers or model.decoder_layers
        return Recogniser(float(model.hidden), float(layers), float(model.decoder_layers))
    encoder_alone = model is not None and model.decoder_layers == 0
    ratio = sizing_constants().other.speech_ratio.value
    width = (params_b * 1e9 * ratio / (12.0 if encoder_alone else 28.0)) ** (1.0 / 3.0)
    return Recogniser(width, width / ratio, 0.0 if encoder_alone else width / ratio)


def beams_of(job: Job) -> float:
    """Texts that the search follows at a time, as stated, else as the program has it.

    Of programs that people state, transformers and servers of language models take one by default.
    """
    usual = not job.engine_stated or job.engine in {WHISPER, FASTER_WHISPER}
    return job.beams or (sizing_constants().other.speech_beams.value if usual else 1.0)
