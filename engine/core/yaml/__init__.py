"""Position-aware YAML: the only room that knows the file format."""

from engine.core.yaml.node import Mapping
from engine.core.yaml.node import Node
from engine.core.yaml.node import Scalar
from engine.core.yaml.node import Sequence
from engine.core.yaml.node import Source
from engine.core.yaml.node import find
from engine.core.yaml.node import place_of
from engine.core.yaml.node import place_within
from engine.core.yaml.plain import plain
from engine.core.yaml.plain import typed
from engine.core.yaml.plain import untyped
from engine.core.yaml.reading import Document
from engine.core.yaml.reading import read_document
from engine.core.yaml.reading import read_yaml
from engine.core.yaml.reading import read_yaml_text
from engine.core.yaml.validation import problems_from_pydantic


__all__ = [
    "Document",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "Source",
    "find",
    "place_of",
    "place_within",
    "plain",
    "problems_from_pydantic",
    "read_document",
    "read_yaml",
    "read_yaml_text",
    "typed",
    "untyped",
]
