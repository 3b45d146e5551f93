"""Reading the tests inside rules: facts typed by the vocabulary, near misses merged into the test that they vary."""

from __future__ import annotations

from whichgpu.engine.core import MappingNode, Node, ScalarNode, nearest_words, place_of, typed, untyped
from whichgpu.engine.rules.facts import FactDef, read_value
from whichgpu.engine.rules.rulebook.grammar import NEAR_MISS_KEYS, TEST_KEYS
from whichgpu.engine.rules.rulebook.model import Each, RuleTest, Stage
from whichgpu.engine.rules.rulebook.outcomes import SAYS_WHAT_FOLLOWS, read_expected
from whichgpu.engine.rules.rulebook.reading import Context, Fields, kind_of, whole_number


#: As a value in a test: the fact is removed, whatever would have resolved it.
UNKNOWN = "unknown"

_ONE_THING = "write one fact with its new value, such as near_miss: {plan.count: 8}"


def read_tests(node: Node, stage: Stage, each: Each, context: Context) -> tuple[RuleTest, ...]:
    """The tests of a rule; those with problems are left out."""
    tests: list[RuleTest] = []
    base: RuleTest | None = None
    for item in context.items(node, "`tests`"):
        if isinstance(item, MappingNode) and item.key("near_miss"):
            test = _read_near_miss(item, base, each, context)
        else:
            test = _read_test(item, stage, each, context)
            base = test or base
        if test is not None:
            tests.append(test)
    return tuple(tests)


def _read_test(node: Node, stage: Stage, each: Each, context: Context) -> RuleTest | None:
    fields = context.fields(node, TEST_KEYS, "a test")
    if fields is None:
        return None
    given = _read_facts(fields, "given", context)
    plan = _read_plan(fields, each, context)
    following = [fields[name][0] for name in SAYS_WHAT_FOLLOWS if name in fields]
    if "fires" not in fields and not following:
        fix = "add `fires:` (whether the rule fires), or say what follows with `then:`"
        context.add("missing-key", "a test lacks `fires`", node, fix=fix)
        return None
    fires = context.flag(fields, "fires") if "fires" in fields else True
    if following and not fires:
        fix = "say what follows beside `fires: true`"
        context.add("wrong-form", "where the rule does not fire nothing follows from it", following[0], fix=fix)
        return None
    expected = read_expected(fields, stage, each, context) if following else None
    if "rejects" in fields:
        plan = _rejected_plan(fields, plan)
    return RuleTest(given, plan, fires, None, place_of(node), expected)


def _rejected_plan(fields: Fields, plan: dict[str, object]) -> dict[str, object]:
    """``rejects: nvidia-l4`` is the plan on that GPU."""
    node = fields["rejects"][1]
    named = isinstance(node, ScalarNode) and not isinstance(typed(node.text), bool)
    return {"gpu": node.text, **plan} if named and isinstance(node, ScalarNode) else plan


def _read_facts(fields: Fields, key: str, context: Context) -> dict[str, object]:
    if key not in fields:
        return {}
    node = fields[key][1]
    if not isinstance(node, MappingNode):
        context.add("wrong-form", f"`{key}` is {kind_of(node)}", node, fix="write {fact: value}")
        return {}
    facts: dict[str, object] = {}
    for name, value in node.entries:
        fact = context.fact(name, f"`{key}`")
        if fact is None:
            continue
        if fact.scope != "workload":
            message = f"`{fact.name}` is about the {fact.scope}, not the workload"
            context.add("misplaced-fact", message, name, fix=f"write it under `plan:` as {{{fact.name}: ...}}")
        else:
            facts[fact.name] = _read_value(fact, value, context)
    return facts


def _read_plan(fields: Fields, each: Each, context: Context) -> dict[str, object]:
    if "plan" not in fields:
        return {}
    key, node = fields["plan"]
    if each == "workload":
        context.add("misplaced-fact", "a rule for each: workload sees no plan", key, fix="leave `plan` out")
        return {}
    if not isinstance(node, MappingNode):
        context.add("wrong-form", f"`plan` is {kind_of(node)}", node, fix="write {gpu: nvidia-l40s, count: 8}")
        return {}
    plan: dict[str, object] = {}
    for name, value in node.entries:
        entry = _read_plan_entry(name, value, context)
        if entry:
            plan[entry[0]] = entry[1]
    if "count" in plan and "gpu" not in plan:
        context.add("missing-key", "`plan` has a count and no gpu", key, fix="add gpu: with a GPU id")
    return plan


def _read_plan_entry(name: ScalarNode, value: Node, context: Context) -> tuple[str, object] | None:
    """One entry of ``plan``: ``gpu``, ``count``, or a fact by its full name."""
    key = _plan_key(name.text)
    if key in _BUILDING:
        return key, _BUILDING[key](value, context)
    facts = context.vocabulary.facts
    found = next(
        (facts[full] for full in (key, f"plan.{key}", f"candidate.{key}", f"gpu.{key}") if full in facts), None
    )
    if found is None or found.scope == "workload":
        valid = [full for full, fact in facts.items() if fact.scope != "workload"]
        short = {full.partition(".")[2]: full for full in reversed(valid)}
        near = nearest_words(key, [*valid, *short], limit=1)
        fix = None if near else "the keys of `plan` are gpu, count, and facts such as plan.link or gpu.vram_gb"
        context.add("unknown-fact", f"`plan` has no {name.text!r}", name, nearest=near, fix=fix, fact=name.text)
        return None
    return found.name, _read_value(found, value, context)


def _plan_key(text: str) -> str:
    """``plan.gpu`` and ``plan.count`` build the plan, as ``gpu`` and ``count`` do."""
    return {"plan.gpu": "gpu", "plan.count": "count", "gpu.id": "gpu"}.get(text, text)


def _read_gpu(node: Node, context: Context) -> object:
    known = context.known.gpus
    if not isinstance(node, ScalarNode):
        context.add("wrong-form", f"a GPU is {kind_of(node)}", node, fix="name a GPU by its id")
    elif known and node.text not in known:
        message = f"no GPU has the id {node.text!r}"
        context.unknown("unknown-gpu", message, node, known, fix="name a GPU of the catalogue")
    return node.text if isinstance(node, ScalarNode) else ""


def _read_count(node: Node, context: Context) -> object:
    count = whole_number(node)
    if count is not None:
        return count
    context.add("wrong-form", f"`count` is {kind_of(node)} and should be a whole number from 1", node)
    return 1


#: The keys of ``plan`` that are no facts but build it.
_BUILDING = {"gpu": _read_gpu, "count": _read_count}


def _read_value(fact: FactDef, node: Node, context: Context) -> object:
    """The value in the fact's unit; the word ``unknown`` for one that is to be removed."""
    raw = untyped(node)
    reading = read_value(fact, raw, known_gpus=context.known.gpus)
    if reading.problems:  # Finding places is expensive, and almost no value needs one.
        context.extend(read_value(fact, raw, place_of(node), known_gpus=context.known.gpus).problems)
    return UNKNOWN if reading.value is None else reading.value


def _read_near_miss(node: MappingNode, base: RuleTest | None, each: Each, context: Context) -> RuleTest | None:
    fields = context.fields(node, NEAR_MISS_KEYS, "a near miss")
    if fields is None or "near_miss" not in fields:
        return None
    key, change = fields["near_miss"]
    if base is None or not base.fires:
        message = "a near miss varies the test above it, and none there fires"
        context.add("bad-near-miss", message, key, fix="put a test with `fires: true` above it")
        return None
    if not isinstance(change, MappingNode) or len(change.entries) != 1:
        said = f"changes {len(change.entries)} things" if isinstance(change, MappingNode) else f"is {kind_of(change)}"
        context.add("bad-near-miss", f"a near miss changes exactly one thing; this one {said}", key, fix=_ONE_THING)
        return None
    return _vary(base, change, each, context)


def _vary(base: RuleTest, change: MappingNode, each: Each, context: Context) -> RuleTest | None:
    """The base test with the one change merged in."""
    (name, value), *_ = change.entries
    given, plan = dict(base.given), dict(base.plan)
    about_plan = each != "workload" and context.vocabulary.fact(name.text) is None
    about_plan = about_plan or _plan_key(name.text) in _BUILDING or "." in name.text
    entry: tuple[str, object] | None
    if about_plan and each != "workload":
        entry = _read_plan_entry(name, value, context)
        target = plan
    else:
        fact = context.fact(name, "`near_miss`")
        entry = (fact.name, _read_value(fact, value, context)) if fact else None
        target = given
        if fact is not None and fact.scope != "workload":
            context.add("misplaced-fact", "a rule for each: workload sees no plan", name, fix="change a workload fact")
            return None
    if entry is None:
        return None
    changed, new = entry
    if changed in target and target[changed] == new and type(target[changed]) is type(new):
        if not context.topmost:  # A layer above moved a parameter to where a test stands already.
            return None
        shown = {True: "yes", False: "no"}[new] if isinstance(new, bool) else str(new)
        message = f"`{changed}` is {shown} in the test above already"
        context.add("bad-near-miss", message, value, fix="give it another value")
        return None
    target[changed] = new
    return RuleTest(given, plan, False, {changed: new}, place_of(name))
