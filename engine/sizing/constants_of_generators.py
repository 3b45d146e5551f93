"""The constants of image and video generators: text encoders, denoisers and autoencoders."""

from whichgpu.engine.core import FrozenModel
from whichgpu.engine.sizing.constants_of_training import Constant


class KeptByDenoiser(FrozenModel):
    """Bytes for each token, width and layer, of a UNet for each pixel, that wait for the backward pass in 16 bits."""

    full: float
    full_autocast: float
    lora: float  # adapters on the matrices of attention
    lora_autocast: float


class Denoiser(FrozenModel):
    """A denoiser as traced; dimensions only of transformers."""

    params_b: float
    latent: tuple[int, int, int]  # channels, pixels of an edge and frames that become one place
    hidden: int | None = None
    layers: int | None = None
    text_tokens: int = 0  # in its stream, or what keys and values of the prompt keep beside it
    attentions: int = 1  # in a layer, each with matrices of its own: 2 where the prompt is attended to apart
    kept: KeptByDenoiser
    own_code: float | None = None  # numbers of a token and width while its authors' code computes a block
    checkpointed: float | None = None  # of a UNet: bytes for each pixel under full checkpointing
    scores: float = 0.0  # of a UNet: attention's scores for each pixel and pixel of the picture
    scores_at_once: float = 0.0  # the same of the block that has most of them
    blocks: int = 0  # of a UNet: of attention and of convolutions, one after the other
    decodes_wide: bool = False  # its autoencoder overflows in fp16, so that pipelines decode in 32 bits


class HeldByDecoder(FrozenModel):
    """What a video autoencoder holds at its peak beside its weights, as traced, where it decodes a clip whole."""

    params_b: float
    latent: tuple[int, int, int]  # channels, pixels of an edge and frames that become one place
    held: tuple[tuple[int, float], ...]  # latent frames, and bytes for each pixel of a frame


class WideEncoder(FrozenModel):
    """A text encoder of T5's architecture: all of it, and its output projections, in billions."""

    params_b: float
    wide_b: float
    table_b: float  # of its tokens' vectors


class ColumnConvolution(FrozenModel):
    """Releases of PyTorch in which a video autoencoder in 16 bits convolves by columns, and their bytes."""

    since: str
    before: str
    params_b: float  # of the autoencoder
    bytes_per_pixel: float  # of a frame that is decoded
    frames: int  # that its last convolutions see together, of a clip
    source: str


class Diffusion(FrozenModel):
    """Image and video generators."""

    text_encoder_small_b: Constant
    text_encoder_medium_b: Constant
    text_encoder_large_b: Constant
    text_encoder_clip_only_b: Constant
    vae_b: Constant
    denoiser_small_b: Constant
    denoiser_medium_b: Constant
    t5_encoders: dict[str, WideEncoder]
    t5_encoders_source: str
    vae_bytes_per_pixel: Constant  # of each picture that is decoded
    vae_bytes_per_pixel_once: Constant  # of one picture, however many there are
    vae_bytes_per_pixel_wide: Constant  # where it decodes in 32 bits
    vae_bytes_per_pixel_wide_once: Constant
    vae_bytes_per_pixel_encoded: Constant
    score_bytes: Constant  # of attention that is not fused, while pictures are made
    pictures_at_once: Constant  # frames of a clip that an image autoencoder decodes together
    clip_decoders: dict[str, HeldByDecoder]
    columns: ColumnConvolution
    infer_elements_per_hidden: Constant
    kept: KeptByDenoiser
    kept_source: str
    denoisers: dict[str, Denoiser]
    denoisers_source: str
    patch_px_small: Constant
    patch_px: Constant
    selective_share: Constant
    text_tokens: Constant
    frames_per_latent: Constant
