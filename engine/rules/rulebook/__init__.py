"""Rule files to rules, and matches to what holds."""

from engine.rules.rulebook.digest import digest_of
from engine.rules.rulebook.load import load_rulebook
from engine.rules.rulebook.load import load_rules_text
from engine.rules.rulebook.model import Known
from engine.rules.rulebook.model import Rule
from engine.rules.rulebook.model import Rulebook
from engine.rules.rulebook.model import Verdict
from engine.rules.rulebook.order import levels
from engine.rules.rulebook.order import rule_nodes
from engine.rules.rulebook.order import topological_levels
from engine.rules.rulebook.resolve import Collision
from engine.rules.rulebook.resolve import Resolution
from engine.rules.rulebook.resolve import Resolver
from engine.rules.rulebook.resolve import resolve
from engine.rules.rulebook.schema import rule_file_schema
from engine.rules.rulebook.verdicts import verdict_of
from engine.rules.rulebook.verdicts import verdicts_of
from engine.rules.rulebook.writing import written


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
