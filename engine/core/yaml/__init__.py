"""Position-aware YAML: the only package that knows the file format."""

from whichgpu.engine.core.yaml.node import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Source,
    find,
    key_place,
    place_of,
    place_within,
)
from whichgpu.engine.core.yaml.plain import plain, typed, untyped
from whichgpu.engine.core.yaml.reading import Document, read_document, read_yaml, read_yaml_text
from whichgpu.engine.core.yaml.validation import problems_from_pydantic


__all__ = [
    "Document",
    "MappingNode",
    "Node",
    "ScalarNode",
    "SequenceNode",
    "Source",
    "find",
    "key_place",
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
