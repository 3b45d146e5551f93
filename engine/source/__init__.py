"""Position-aware YAML: the only room that knows the file format."""

from engine.source.node import Mapping
from engine.source.node import Node
from engine.source.node import Scalar
from engine.source.node import Sequence
from engine.source.node import Source
from engine.source.node import find
from engine.source.node import place_of
from engine.source.node import place_within
from engine.source.plain import plain
from engine.source.plain import typed
from engine.source.plain import untyped
from engine.source.reading import Document
from engine.source.reading import read_document
from engine.source.reading import read_yaml
from engine.source.reading import read_yaml_text
from engine.source.validation import problems_from_pydantic


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
