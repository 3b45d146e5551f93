from .advisor import Advisor as Advisor, known_names as known_names, load_advisor as load_advisor
from .answer.answer_types import (
    SHAPES as SHAPES,
    RefusedError as RefusedError,
    RefusedLine as RefusedLine,
    SizeAnswer as SizeAnswer,
)
from .answer.check import check_saved as check_saved
from .answer.formats import DECISION_FORMAT as DECISION_FORMAT, RECORD_FORMAT as RECORD_FORMAT
from .answer.keys import FactValues as FactValues, Word as Word, doc as doc
from .answer.launch import LaunchFile as LaunchFile, launch_file as launch_file
from .answer.lazy import LazyAnswer as LazyAnswer
from .answer.outline import Outline as Outline
from .answer.outranked import loss_text as loss_text, named as named
from .answer.part_types import Interview as Interview, UnaskedFact as UnaskedFact, UnknownFact as UnknownFact
from .answer.plan_types import Recommendation as Recommendation
from .answer.schema import (
    definitions_of as definitions_of,
    schema_of as schema_of,
    schema_text as schema_text,
    type_schema as type_schema,
)
from .answer.wording import better_words as better_words, ratio_words as ratio_words
from .api import decide as decide, size as size
from .budgets import NOTHING_ELSE_FITS as NOTHING_ELSE_FITS
from .contenders import (
    UNSTATED as UNSTATED,
    AskedLoad as AskedLoad,
    Traits as Traits,
    due as due,
    stated_load as stated_load,
    traits_of_plan as traits_of_plan,
)
from .decision import Decision as Decision
from .dominance import (
    asks_for_no_more as asks_for_no_more,
    asks_too_much as asks_too_much,
    far_better as far_better,
    joins_no_more as joins_no_more,
    keeps_count as keeps_count,
    may_stand_in as may_stand_in,
    most_cost_that_outweighs as most_cost_that_outweighs,
    no_worse as no_worse,
    outweighs_guide as outweighs_guide,
    paid_for_anyway as paid_for_anyway,
    strikes_balance as strikes_balance,
)
from .fit_answer import FitFile as FitFile, FittingModel as FittingModel, fitting_models as fitting_models
from .formulas import DecisionFormulas as DecisionFormulas, formulas_of as formulas_of
from .intake import Workload as Workload, unknown_gpu as unknown_gpu
from .lookups import model_read as model_read
from .losses import Loss as Loss, LossKind as LossKind, first_by_evidence as first_by_evidence, loss_of as loss_of
from .measures import (
    MeasureColumns as MeasureColumns,
    Measures as Measures,
    compared_by as compared_by,
    is_job as is_job,
    is_long as is_long,
    measures_among as measures_among,
)
from .objectives import ObjectivesFile as ObjectivesFile, shipped_objectives as shipped_objectives
from .outcome import (
    Judged as Judged,
    NoAnswer as NoAnswer,
    Outcome as Outcome,
    PlanRound as PlanRound,
    Rejection as Rejection,
    fired_rules as fired_rules,
)
from .pipeline import (
    DecisionContext as DecisionContext,
    Probed as Probed,
    ResolvedIntake as ResolvedIntake,
    ResolvingIntake as ResolvingIntake,
    asked_counts as asked_counts,
    choice_on as choice_on,
    round_on as round_on,
)
from .procurement import Procurement as Procurement, compared_facts as compared_facts, compute as compute
from .rank import Objective as Objective
from .round import run_round as run_round
from .size_answer import size_workload as size_workload
from .survey import (
    survey_candidates as survey_candidates,
)
