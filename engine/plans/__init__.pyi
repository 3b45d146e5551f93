from .candidates import (
    NOT_AVAILABLE as NOT_AVAILABLE,
    candidate_plans as candidate_plans,
    gpus_not_available as gpus_not_available,
    gpus_to_plan as gpus_to_plan,
)
from .constants import PlanConstants as PlanConstants, plan_constants as plan_constants
from .costs.comparison import (
    ComparisonSays as ComparisonSays,
    CostComparison as CostComparison,
    Side as Side,
    compare_costs as compare_costs,
)
from .costs.constants import EconomicsConstants as EconomicsConstants, load_economics as load_economics
from .costs.flips import (
    Flip as Flip,
    nearest_flip as nearest_flip,
)
from .costs.hardware import CARD_SEGMENTS as CARD_SEGMENTS
from .costs.model import Commitment as Commitment, Cost as Cost
from .costs.offers import (
    offer_index as offer_index,
    price_age_days as price_age_days,
)
from .costs.power import DESK_CARDS as DESK_CARDS
from .costs.procurement import (
    YES_NO as YES_NO,
    comparison_entries as comparison_entries,
    facts_of_comparison as facts_of_comparison,
    figures_of_comparison as figures_of_comparison,
    procurement_facts as procurement_facts,
    procurement_figures as procurement_figures,
)
from .costs.provenance import cost_provenance as cost_provenance
from .costs.purchase import SourcedAmount as SourcedAmount, owned_form as owned_form
from .costs.rental_wishes import (
    region_allowed as region_allowed,
)
from .costs.spending import (
    RENTED_INSTEAD as RENTED_INSTEAD,
    busy_share as busy_share,
    count_owned as count_owned,
    owned_gpus as owned_gpus,
    paid_idle as paid_idle,
)
from .costs.thresholds import (
    Threshold as Threshold,
    ThresholdSays as ThresholdSays,
    guide_thresholds as guide_thresholds,
    thresholds_disagree as thresholds_disagree,
)
from .costs.unoffered import unoffered as unoffered
from .costs.usage import usage_of as usage_of
from .fit_suggestions import (
    FitStep as FitStep,
    FitSuggestions as FitSuggestions,
    changes_that_fit as changes_that_fit,
    fit_suggestions_of as fit_suggestions_of,
)
from .formulas import plan_formulas as plan_formulas, procurement_formulas as procurement_formulas
from .gate import (
    Refusal as Refusal,
    band_problems as band_problems,
    figure_problems as figure_problems,
    through_gate as through_gate,
)
from .maker import PlanMaker as PlanMaker
from .model import Plan as Plan
from .table import PlanTable as PlanTable
from .targets import (
    TARGETS as TARGETS,
    TOLERABLE as TOLERABLE,
    Goals as Goals,
    goals_of as goals_of,
    missed as missed,
    stated_times as stated_times,
)
from .topology import fabric_of as fabric_of, ladder as ladder
