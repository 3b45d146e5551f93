"""Rule files to rules, and matches to what holds."""

from whichgpu.engine.rules.language.tree import written
from whichgpu.engine.rules.rulebook.load import load_rulebook, load_rules_text
from whichgpu.engine.rules.rulebook.model import KnownNames, Rule, Rulebook, Verdict
from whichgpu.engine.rules.rulebook.order import levels, rule_nodes, topological_levels
from whichgpu.engine.rules.rulebook.resolve import Collision, Resolution, Resolver, verdict_of
from whichgpu.engine.rules.rulebook.schema import rule_file_schema


__all__ = [
    "Collision",
    "KnownNames",
    "Resolution",
    "Resolver",
    "Rule",
    "Rulebook",
    "Verdict",
    "levels",
    "load_rulebook",
    "load_rules_text",
    "rule_file_schema",
    "rule_nodes",
    "topological_levels",
    "verdict_of",
    "written",
]
