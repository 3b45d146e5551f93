"""Running the checks over a loaded rulebook, with all that they have to know of the rest of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from msgspec.structs import replace

from whichgpu.engine.advisor import NOTHING_ELSE_FITS, Advisor, known_names
from whichgpu.engine.authoring.guides.guides import catalogue_of, guide_folders, uncarried as uncarried_by
from whichgpu.engine.authoring.guides.statements import sections as sections_of, statements
from whichgpu.engine.authoring.lint.checks import ALL_CHECKS
from whichgpu.engine.authoring.lint.finding import CatalogueView, Finding, LintContext, Surroundings, allowance_on
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import locate, registered
from whichgpu.engine.plans import load_economics, plan_constants
from whichgpu.engine.rules import KnownNames, Rulebook, Vocabulary


#: Checks that no remark silences: one is about remarks, the other about rulebooks that do not work.
NEVER_SILENT = frozenset({"bad-silence", "cyclic-derivation"})


def lint_rulebook(
    rulebook: Rulebook,
    vocabulary: Vocabulary,
    known: KnownNames,
    today: date,
    beside: Surroundings = Surroundings(),  # noqa: B008  (frozen)
) -> list[Finding]:
    """What the checks find, sorted by place.

    Args:
        rulebook: the rules.
        vocabulary: the facts they speak of.
        known: names that live elsewhere; an empty set of them is not checked.
        today: the day by which rules are too old.
        beside: what else the checks know.
    """
    set_by_rules = {fact for rule in rulebook.rules for fact in rule.writes} - frozenset(beside.calculated)
    regions = Regions(rulebook, vocabulary, beside.produced - set_by_rules)
    context = LintContext(
        rulebook=rulebook,
        vocabulary=vocabulary,
        known=known,
        today=today,
        regions=regions,
        derived=regions.derived(),
        checks=frozenset(check.id for check in ALL_CHECKS),
        **{name: getattr(beside, name) for name in beside.__struct_fields__},
    )
    places = {rule.id: rule.place for rule in rulebook.rules}
    found = (finding for check in ALL_CHECKS for finding in check.run(context))

    def silenced(finding: Finding) -> bool:
        lines = (place.text for place in (finding.place, places.get(finding.rule or "")) if place)
        return finding.check not in NEVER_SILENT and any(finding.check in allowance_on(line).checks for line in lines)

    return sorted((finding for finding in found if not silenced(finding)), key=Finding.sort_key)


#: Read by the engine itself: phases, power, the weights of an objective, a vision task's networks, the sizing shown.
READ_BY_THE_PIPELINE = frozenset({"objective", "pue", "recommended_vram_gb", "training_task", "vision_task"})


def inspect(advisor: Advisor, today: date, required: Sequence[str] = ()) -> list[Finding]:
    """What the checks find in the rulebook, sorted by place. ``today`` is the day by which a rule may be too old.

    Where layers lie over the rules that come with the program, they alone are judged: what they make of the rules
    below is worth knowing, and no mistake of anyone who can fix it.

    Raises:
        KnowledgeError: a file of constants is wrong, which a decision reads when it needs them.
    """
    load_economics()
    plan_constants()
    said = statements(*guide_folders(advisor))
    found = lint_rulebook(
        advisor.rulebook,
        advisor.vocabulary,
        replace(known_names(advisor.knowledge), heuristics=frozenset(said)),
        today,
        Surroundings(
            produced=produced_facts(advisor.vocabulary),
            consumed=consumed_facts(),
            calculated=calculated_facts(),
            models=advisor.knowledge.models,
            run_sources=frozenset(key for key, source in advisor.knowledge.sources.items() if source.runs),
            statements=said,
            sections=sections_of(said.values(), advisor.knowledge.sources),
            uncarried=tuple(uncarried_by(advisor)),
            catalogue=catalogue_view(advisor.knowledge),
            figures=advisor.knowledge.figures,
            required=tuple(required),
        ),
    )
    below = {rule.id for rule in advisor.rulebook.rules if rule.layer in layers_below(advisor)}
    return [_as_note(each) if below and not _in_layers(each, advisor, below) else each for each in found]


def layers_below(advisor: Advisor) -> frozenset[str]:
    """The names of the layers that come with the program, where others lie over them; else none."""
    folders = zip(advisor.rulebook.layers, advisor.folders, strict=False)
    own = locate("rules").resolve()
    shipped = frozenset(layer.name for layer, folder in folders if folder.resolve() == own)
    return shipped if len(advisor.rulebook.layers) > len(shipped) else frozenset()


def _in_layers(finding: Finding, advisor: Advisor, below: set[str]) -> bool:
    """Whether a finding lies in a file of one of the layers on top."""
    if finding.rule in below:
        return False
    own = locate("rules").resolve()
    if finding.place is None:
        of_layers = {entry["id"] for entry in catalogue_of(*guide_folders(advisor)[1:])}
        return finding.rule in advisor.rules or finding.rule in of_layers
    path = Path(finding.place.path).resolve()
    return any(path.is_relative_to(folder.resolve()) for folder in advisor.folders if folder.resolve() != own)


def _as_note(finding: Finding) -> Finding:
    if finding.severity == "info":
        return finding
    return replace(finding, severity="info", message=f"{UNDER_LAYERS}{finding.message}", fix=None)


#: How a note on a rule begins that the layers above it make moot.
UNDER_LAYERS = "under these layers: "


def catalogue_view(knowledge: Knowledge) -> CatalogueView:
    """The GPUs, and the names that conditions may compare facts of plans and GPUs with."""
    gpus, offers = tuple(knowledge.gpu_facts.values()), knowledge.all_offers
    words: dict[str, set[str]] = {
        "plan.gpu": set(knowledge.gpus),
        "plan.family": set(knowledge.families),
        "plan.provider": {offer.provider for offer in offers},
        "plan.provider_class": {offer.provider_class for offer in offers},
        "plan.region": {offer.region for offer in offers if offer.region},
        "plan.mig_profile": {profile for gpu in knowledge.gpus.values() for profile in gpu.mig_profiles},
        "model_name": {name for model in knowledge.models.values() for name in (model.id, model.name, *model.aliases)},
    }
    words |= {"providers_allowed": words["plan.provider"], "regions_allowed": words["plan.region"]}
    for gpu in gpus:
        for name, value in gpu.items():
            if isinstance(value, str):
                words.setdefault(name, set()).add(value)
    return CatalogueView(gpus, {name: frozenset(found) for name, found in words.items() if found})


def calculated_facts() -> dict[str, frozenset[str]]:
    """The facts that calculators give, with those that each of them reads."""
    return {item.output: frozenset((*item.needs, *item.uses)) for item in registered().values()}


def produced_facts(vocabulary: Vocabulary) -> frozenset[str]:
    """Facts that something other than a rule gives: calculators, surveys, last resorts, the rent-or-own sums."""
    later = {name for name, fact in vocabulary.facts.items() if fact.available in ("survey", "outcome")}
    return frozenset(registered()) | {NOTHING_ELSE_FITS} | later - {"procurement"}  # That verdict only rules can give.


def worked_out_facts(advisor: Advisor) -> frozenset[str]:
    """Facts that the engine computes by other means than rules, so that a check cannot look into them."""
    by_rules = {fact for rule in advisor.rulebook.rules for fact in rule.writes} - set(registered())
    return produced_facts(advisor.vocabulary) - by_rules


def consumed_facts() -> frozenset[str]:
    """Facts that something other than a rule reads: calculators' inputs, and what sizing, plans and prices take."""
    read = {name for calculator in registered().values() for name in (*calculator.needs, *calculator.uses)}
    return READ_BY_THE_PIPELINE | read
