"""Rule files to rules, and matches to what holds."""

from whichgpu.engine.rules.language.tree import written
from whichgpu.engine.rules.rulebook.load import load_rulebook
from whichgpu.engine.rules.rulebook.load import load_rules_text
from whichgpu.engine.rules.rulebook.model import KnownNames
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Rulebook
from whichgpu.engine.rules.rulebook.model import Verdict
from whichgpu.engine.rules.rulebook.order import levels
from whichgpu.engine.rules.rulebook.order import rule_nodes
from whichgpu.engine.rules.rulebook.order import topological_levels
from whichgpu.engine.rules.rulebook.resolve import Collision
from whichgpu.engine.rules.rulebook.resolve import Resolution
from whichgpu.engine.rules.rulebook.resolve import Resolver
from whichgpu.engine.rules.rulebook.resolve import verdict_of
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
