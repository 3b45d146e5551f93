from .facts.coercion import (
    Reading as Reading,
    coerce as coerce,
    gpu_and_count as gpu_and_count,
    read_value as read_value,
)
from .facts.loading import load_vocabulary as load_vocabulary
from .facts.model import RESERVED as RESERVED, Code as Code, FactDef as FactDef, Vocabulary as Vocabulary, fold as fold
from .inference.differences import (
    Difference as Difference,
    differences_file as differences_file,
    gathering_differences as gathering_differences,
    keep_differences as keep_differences,
    kept_differences as kept_differences,
)
from .inference.driver import durable_available as durable_available, engine_status as engine_status
from .inference.evaluation import Evaluation as Evaluation
from .inference.firing import Level as Level, confirm as confirm, fire as fire, probing as probing
from .inference.table_evaluation import TableEvaluation as TableEvaluation
from .language.compiling import Compiled as Compiled, compile_expr as compile_expr, evaluate as evaluate
from .language.domains import (
    Domains as Domains,
    Span as Span,
    bounds as bounds,
    compares_with_constant as compares_with_constant,
    constants as constants,
    constants_compared as constants_compared,
    drawn as drawn,
    inside as inside,
    read_jointly as read_jointly,
    representatives as representatives,
    spread as spread,
)
from .language.parsing import parse_condition as parse_condition
from .language.texts import (
    format_number as format_number,
    format_value as format_value,
    render as render,
    template_facts as template_facts,
)
from .language.tree import (
    MIRRORED as MIRRORED,
    OPPOSITE as OPPOSITE,
    And as And,
    Arith as Arith,
    ArithOp as ArithOp,
    Compare as Compare,
    CompareOp as CompareOp,
    Const as Const,
    Expr as Expr,
    FactRef as FactRef,
    Has as Has,
    Known as Known,
    Member as Member,
    Not as Not,
    Or as Or,
    conjuncts as conjuncts,
    facts_read as facts_read,
    is_local as is_local,
    items_asked as items_asked,
    leaves as leaves,
    to_nnf as to_nnf,
    written as written,
)
from .language.wording import words as words
from .resolution.conditions import conditions_of as conditions_of, defaults_of as defaults_of
from .resolution.model import (
    FactCandidate as FactCandidate,
    Origin as Origin,
    ResolvedFact as ResolvedFact,
    ResolvedFacts as ResolvedFacts,
)
from .resolution.run import (
    Calculated as Calculated,
    Default as Default,
    FactResolver as FactResolver,
    MakeLevel as MakeLevel,
    Resolving as Resolving,
)
from .rulebook.effect_records import (
    Ask as Ask,
    ConsiderCounts as ConsiderCounts,
    Disagree as Disagree,
    Fallback as Fallback,
    Monitor as Monitor,
    Points as Points,
    Reject as Reject,
    Say as Say,
    SetFact as SetFact,
    ShowFigure as ShowFigure,
)
from .rulebook.formatting import formatted as formatted
from .rulebook.grammar import (
    EACH as EACH,
    EACH_OF_STAGE as EACH_OF_STAGE,
    ID_PATTERN as ID_PATTERN,
    REASONS as REASONS,
    RESPONSIBLE_KEYS as RESPONSIBLE_KEYS,
    STAGES as STAGES,
    Key as Key,
)
from .rulebook.layers import canonical as canonical, rule_digest as rule_digest
from .rulebook.load import PackedRulebook as PackedRulebook, load_rulebook as load_rulebook
from .rulebook.model import (
    Change as Change,
    Claim as Claim,
    Condition as Condition,
    Each as Each,
    Effect as Effect,
    Expected as Expected,
    KnownNames as KnownNames,
    Preference as Preference,
    Quantity as Quantity,
    Responsible as Responsible,
    Rule as Rule,
    Rulebook as Rulebook,
    RuleTest as RuleTest,
    Stage as Stage,
    Table as Table,
    Verdict as Verdict,
)
from .rulebook.order import levels as levels, rows_above as rows_above, shortest_circle as shortest_circle
from .rulebook.phases import MOMENTS as MOMENTS, latest as latest
from .rulebook.policy import POLICY_TOPIC as POLICY_TOPIC
from .rulebook.provenance import source_heads as source_heads
from .rulebook.reading import Fields as Fields, Reader as Reader, kind_of as kind_of
from .rulebook.resolve import (
    Resolution as Resolution,
    Resolver as Resolver,
    missing_facts as missing_facts,
    overriders as overriders,
    verdict_of as verdict_of,
)
from .rulebook.ruletests import UNKNOWN as UNKNOWN
from .rulebook.schema import rule_file_schema as rule_file_schema
