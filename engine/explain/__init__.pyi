from .auditing import (
    Check as Check,
    Verdict as Verdict,
    audit as audit,
    quick_checks as quick_checks,
    verdict_of as verdict_of,
)
from .comparing import compare as compare
from .derivation import Phrases as Phrases, Step as Step, cut_at as cut_at, to_dict as to_dict
from .differences import Change as Change, Comparison as Comparison, shown as shown
from .evidence import gather as gather
from .fact_changes import (
    FactChange as FactChange,
    read_back as read_back,
    with_changes as with_changes,
)
from .nearest import WHY_NOT_DECISIONS as WHY_NOT_DECISIONS, Nearest as Nearest, Search as Search
from .probing import probing_context as probing_context
from .sensitivity_search import (
    SENSITIVITY_DECISIONS as SENSITIVITY_DECISIONS,
    NoFlip as NoFlip,
    Sensitivity as Sensitivity,
    Turn as Turn,
    sensitivity as sensitivity,
)
from .why import Explainer as Explainer
from .whynot import WhyNot as WhyNot, why_not as why_not
