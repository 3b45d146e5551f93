"""Rule files to rules, and matches to what holds."""

from engine.rulebook.digest import digest_of
from engine.rulebook.load import load_rulebook
from engine.rulebook.load import load_rules_text
from engine.rulebook.model import Known
from engine.rulebook.model import Rule
from engine.rulebook.model import Rulebook
from engine.rulebook.model import Verdict
from engine.rulebook.order import levels
from engine.rulebook.order import rule_nodes
from engine.rulebook.order import topological_levels
from engine.rulebook.resolve import Collision
from engine.rulebook.resolve import Resolution
from engine.rulebook.resolve import Resolver
from engine.rulebook.resolve import resolve
from engine.rulebook.schema import rule_file_schema
from engine.rulebook.verdicts import verdict_of
from engine.rulebook.verdicts import verdicts_of
from engine.rulebook.writing import written


__all__ = [
    "Collision",
    "Known",
    "Resolution",
    "Resolver",
    "Rule",
    "Rulebook",
    "Verdict",
    "digest_of",
    "levels",
    "load_rulebook",
    "load_rules_text",
    "resolve",
    "rule_file_schema",
    "rule_nodes",
    "topological_levels",
    "verdict_of",
    "verdicts_of",
    "written",
]
