from .assembling import load_rules_text as load_rules_text
from .load import load_rulebook as load_rulebook
from .model import KnownNames as KnownNames, Rule as Rule, Rulebook as Rulebook, Verdict as Verdict
from .order import levels as levels, rule_nodes as rule_nodes, topological_levels as topological_levels
from .resolve import Collision as Collision, Resolution as Resolution, Resolver as Resolver, verdict_of as verdict_of
from .schema import rule_file_schema as rule_file_schema
