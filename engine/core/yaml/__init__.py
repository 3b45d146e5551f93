"""Position-aware YAML: the only room that knows the file format."""

from whichgpu.engine.core.yaml.node import MappingNode
from whichgpu.engine.core.yaml.node import Node
from whichgpu.engine.core.yaml.node import ScalarNode
from whichgpu.engine.core.yaml.node import SequenceNode
from whichgpu.engine.core.yaml.node import Source
from whichgpu.engine.core.yaml.node import find
from whichgpu.engine.core.yaml.node import place_of
from whichgpu.engine.core.yaml.node import place_within
from whichgpu.engine.core.yaml.plain import plain
from whichgpu.engine.core.yaml.plain import typed
from whichgpu.engine.core.yaml.plain import untyped
from whichgpu.engine.core.yaml.reading import Document
from whichgpu.engine.core.yaml.reading import read_document
from whichgpu.engine.core.yaml.reading import read_yaml
from whichgpu.engine.core.yaml.reading import read_yaml_text
from whichgpu.engine.core.yaml.validation import problems_from_pydantic


__all__ = [
    "Document",
    "MappingNode",
    "Node",
    "ScalarNode",
    "SequenceNode",
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
