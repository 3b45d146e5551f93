from .book.links import (
    Graph as Graph,
    Links as Links,
    Node as Node,
    Origins as Origins,
    links_of as links_of,
    neighbourhood as neighbourhood,
    topic_graph as topic_graph,
)
from .diff.answers import Edition as Edition, answer_of as answer_of
from .diff.comparing import (
    ChangedRule as ChangedRule,
    Comparison as Comparison,
    Moved as Moved,
    Names as Names,
    by_task as by_task,
    compare as compare,
)
from .diff.rulediff import Region as Region, RuleChange as RuleChange
from .diff.touched import Touched as Touched, touched_by as touched_by
from .diff.workloads import (
    Named as Named,
    example_workloads as example_workloads,
    scenario_workloads as scenario_workloads,
)
from .guides.guides import (
    Standing as Standing,
    check_coverage as check_coverage,
    standings as standings,
    uncarried as uncarried,
)
from .guides.manifest import refreshed_manifest as refreshed_manifest
from .inspection import (
    UNDER_LAYERS as UNDER_LAYERS,
    inspect as inspect,
    layers_below as layers_below,
    lint_rulebook as lint_rulebook,
    worked_out_facts as worked_out_facts,
)
from .lint.checks import ALL_CHECKS as ALL_CHECKS
from .lint.finding import (
    Check as Check,
    Finding as Finding,
    StatedNumber as StatedNumber,
)
from .lint.printed import PrintedFinding as PrintedFinding
from .schemas import (
    LAYER_FOLDER as LAYER_FOLDER,
    LAYER_SCHEMAS as LAYER_SCHEMAS,
    file_schemas as file_schemas,
    text_of as text_of,
)
from .testing.cases import FactsFor as FactsFor
from .testing.first_tests import FirstTests as FirstTests, write_first_tests as write_first_tests
from .testing.following import Following as Following
from .testing.kept_cases import KeptResults as KeptResults, run_or_recall as run_or_recall
from .testing.mutation import (
    MutationReport as MutationReport,
    Survivor as Survivor,
    mutate as mutate,
    mutate_effects as mutate_effects,
)
from .testing.outcomes import DecideGiven as DecideGiven
from .testing.row_order import mutate_order as mutate_order
from .testing.rule_test_facts import RuleTestFacts as RuleTestFacts
from .testing.rule_tests import (
    Coverage as Coverage,
    TestResult as TestResult,
    coverage_of_tests as coverage_of_tests,
    run_rule_tests as run_rule_tests,
)
from .testing.scenarios import (
    Scenario as Scenario,
    ScenarioResult as ScenarioResult,
    load_scenarios as load_scenarios,
    needs_all as needs_all,
    needs_plans_alone as needs_plans_alone,
    run_scenarios as run_scenarios,
)
from .testing.seen_decision import Outlined as Outlined
from .testing.writing import Written as Written, write_tests as write_tests
