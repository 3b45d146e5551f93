"""Configurations from the Hugging Face hub: ``hf:ORG/NAME`` or ``hf:ORG/NAME@revision``, with the extra ``hub``."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from whichgpu.engine.core import InputError, Problem


_NAME = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
#: What a size follows from; no weights.
_FILES = ("config.json", "hf_quant_config.json", "model_index.json", "*/config.json", "*.safetensors.index.json")
_WITHOUT = "download its config.json and name that file"


def hub_folder(name: str) -> Path:
    """The folder with the configurations of a model of the hub; from the hub's own cache where there is no network.

    Raises:
        InputError: the name has another form, the extra is not installed, or the hub does not give the files; with
            what to do about it.
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        fix = "write hf:ORG/NAME, or hf:ORG/NAME@revision"
        raise InputError(Problem("not-a-hub-name", f"{name!r} names no model of the hub", fact="model_name", fix=fix))
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        message = f"{name} asks for the hub, and huggingface-hub is not installed"
        fix = f"pip install 'whichgpu[hub]', or {_WITHOUT}"
        raise InputError(Problem("hub-not-installed", message, fact="model_name", fix=fix)) from None
    try:
        folder = hub.snapshot_download(match["repo"], revision=match["revision"], allow_patterns=list(_FILES))
    except (OSError, ValueError) as error:  # The hub's errors are of these; each says what is wrong in its first line.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        message = f"the hub does not give {name}: {reason}"
        fix = f"check the name; where it is gated or there is no network, {_WITHOUT}"
        raise InputError(Problem("hub-refused", message, fact="model_name", fix=fix)) from None
    return Path(folder)
