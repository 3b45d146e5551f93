"""A graph of rules and facts as a Mermaid flowchart."""

from __future__ import annotations

from whichgpu.engine.authoring import Graph, Node


_SHAPES = {"fact": ("([", "])"), "calculator": ("[[", "]]"), "topic": ("[", "]")}
_STYLES = (
    ("derive", "fill:#e3f2fd,stroke:#1565c0"),
    ("reject", "fill:#ffebee,stroke:#c62828"),
    ("prefer", "fill:#e8f5e9,stroke:#2e7d32"),
    ("advise", "fill:#fff8e1,stroke:#f9a825"),
)


def to_mermaid(graph: Graph) -> str:
    """The flowchart, from left to right. Facts are rounded, calculators have double sides, rules show their stage."""
    names = {node.id: f"n{place}" for place, node in enumerate(graph.nodes, 1)}
    lines = ["flowchart LR", *(f"  {_node(node, names[node.id])}" for node in graph.nodes)]
    for edge in graph.edges:
        arrow = "-. overrides .->" if edge.dotted else f"-->|{_text(edge.label)}|" if edge.label else "-->"
        lines.append(f"  {names[edge.start]} {arrow} {names[edge.end]}")
    stages = {node.kind for node in graph.nodes}
    lines += [f"  classDef {stage} {style},color:#000" for stage, style in _STYLES if stage in stages]
    return "\n".join(lines) + "\n"


def _node(node: Node, name: str) -> str:
    left, right = _SHAPES.get(node.kind, ("[", "]"))
    stage = f":::{node.kind}" if node.kind not in _SHAPES else ""
    label = node.id if not stage else f"{node.id}<br/>{node.kind}"
    return f'{name}{left}"{_text(label)}"{right}{stage}'


def _text(text: str) -> str:
    return text.replace('"', "#quot;").replace("|", "#124;")
