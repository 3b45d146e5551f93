"""Count how often answers break the laws of choice: ``python benchmarks/decisions.py [--sample 50] [--write]``.

Four hundred generated workloads are decided, and the laws of choice are counted on the JSON of the answers as an
outsider would; a sweep of ``size`` over cards and counts looks for what a table does not show; relations between
answers (a lower price, a looser target, another spelling) are tried. ``--write`` writes ``benchmarks/decisions.md``
and keeps its hand-written sections. It measures the ``engine`` that PYTHONPATH points to, else that of this checkout.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from decision_laws.choosing import comparable, judge_choice
from decision_laws.counting import Law, Laws
from decision_laws.generator import Facts, workloads
from decision_laws.paying import judge_money
from decision_laws.promising import judge_hidden, judge_no_answer, judge_owned, judge_targets
from decision_laws.reading import Answers, shown
from decision_laws.relations import Relations, relation_names
from decision_laws.report import misses, report, table
from decision_laws.sweep import Sweep
from report_pages import write_page

from whichgpu.engine.advisor.advisor import load_advisor


BEFORE = ROOT / "benchmarks" / "data" / "alternatives_before.json"


def main() -> None:
    """Decide, count, print, and write if asked to."""
    options = _options()
    began = time.perf_counter()
    if options.keep:
        keep_alternatives(workloads(options.sample, options.seed), _answers(), options)
        return
    sections, recommended = _sections(options)
    seconds = time.perf_counter() - began
    head = _head(options, recommended, seconds)
    if options.json:
        kept = {name: [law.as_dict() for law in found] for name, found in sections}
        print(json.dumps({"seed": options.seed, "workloads": options.sample, "sections": kept}, indent=1))
    else:
        for name, found in sections:
            print(f"\n{name}\n" + "\n".join(table(found)))
        print(f"\n{seconds:.0f} s")
    text = report("Decisions under the laws of choice", head, sections, options.most)
    if options.write:
        write_page(ROOT / "benchmarks" / "decisions.md", text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")


Sections = list[tuple[str, list[Law]]]


def _sections(options: argparse.Namespace) -> tuple[Sections, int]:
    """The laws of single answers and the relations, counted side by side; and how many workloads have an answer."""
    names = [name for name in relation_names() if options.relations and options.only in name]
    with ProcessPoolExecutor(options.processes) as pool:
        single = [] if options.only else [pool.submit(_single, options)]
        tried = [pool.submit(_relation, name, options) for name in names]
        for done in as_completed([*single, *tried]):
            found = done.result()[0] if done in single else [done.result()]
            print("\n".join((*table(found)[2:], *misses(found, None))), file=sys.stderr, flush=True)
        laws, recommended = single[0].result() if single else ([], 0)
        relations = [each.result() for each in tried]
    sections: Sections = [("Laws of single answers", laws)]
    return [*sections, ("Relations between answers", relations)] if relations else sections, recommended


@cache
def _answers() -> Answers:
    """The decisions of this process, each asked once."""
    return Answers(load_advisor(tests=False))


def _single(options: argparse.Namespace) -> tuple[list[Law], int]:
    made, answers = workloads(options.sample, options.seed), _answers()
    laws = laws_of(made, answers, sweeps=options.sweep)
    recommended = sum(answers.answer(facts, full=True)["recommendation"] is not None for facts in made.values())
    return sorted(laws.by_name.values(), key=lambda law: (law.bar is None, law.name)), recommended


def _relation(name: str, options: argparse.Namespace) -> Law:
    made = workloads(max(options.sample, 5 * options.relations), options.seed)
    return Relations(_answers(), random.Random(options.seed)).law(name, made, options.relations, options.seed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=400, help="workloads; the first of the same seed")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--sweep", type=int, default=100, help="workloads that are also searched by a sweep of size")
    parser.add_argument("--relations", type=int, default=200, help="workloads for each relation; 0: none")
    parser.add_argument("--only", default="", help="relations with these words in their names, and nothing else")
    parser.add_argument("--processes", type=int, default=1, help="how many count at a time")
    parser.add_argument("--json", action="store_true", help="print laws and misses as JSON")
    parser.add_argument("--most", type=int, help="misses listed for each law; all, if left out")
    parser.add_argument("--report", type=Path, help="write the report to this file")
    parser.add_argument("--write", action="store_true", help="write benchmarks/decisions.md")
    parser.add_argument("--keep", metavar="REVISION", help="keep the tables of now as those of this revision")
    return parser.parse_args()


def laws_of(made: dict[str, Facts], answers: Answers, *, sweeps: int) -> Laws:
    """The laws of single answers, counted over the workloads."""
    laws, sweep, knowledge = Laws(), Sweep(answers.advisor), answers.advisor.knowledge
    before = kept_alternatives()
    for number, (name, facts) in enumerate(made.items()):
        answer = answers.answer(facts, full=True)
        if answer["recommendation"] is None:
            judge_no_answer(laws, name, facts, answer, sweep, answers)
        else:
            judge_targets(laws, name, facts, answer)
            judge_money(laws, name, facts, answer, knowledge)
        if comparable(answer):
            judge_choice(laws, name, facts, answer, knowledge)
        judge_owned(laws, name, facts, answer, sweep)
        if (known := before.get(digest(facts))) is not None:
            judge_hidden(laws, name, facts, answer, known, knowledge)
        if number < sweeps:
            sweep.judge(laws, name, facts, answer)
            sweep.sized.clear()
    return laws


def digest(facts: Facts) -> str:
    """A short name for a set of facts."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def kept_alternatives() -> dict[str, list[str]]:
    """The tables of the revision that was kept, by the digest of the workload's facts."""
    if not BEFORE.exists():
        return {}
    kept: dict[str, list[str]] = json.loads(BEFORE.read_text(encoding="utf-8"))["plans"]
    return kept


def keep_alternatives(made: dict[str, Facts], answers: Answers, options: argparse.Namespace) -> None:
    """Write down what the tables show now, for the law that nothing shown is hidden later."""
    plans: dict[str, Any] = {}
    for facts in made.values():
        plans[digest(facts)] = sorted({f"{plan['gpu']}:{plan['count']}" for plan in shown(answers.answer(facts))})
    value = {"revision": options.keep, "seed": options.seed, "plans": plans}
    lines = ",\n".join(f'"{key}": {json.dumps(plans[key])}' for key in sorted(plans))
    head = json.dumps({key: value[key] for key in ("revision", "seed")})[:-1]
    BEFORE.write_text(f'{head}, "plans": {{\n{lines}\n}}}}\n', encoding="utf-8")


def _head(options: argparse.Namespace, recommended: int, seconds: float) -> list[str]:
    knowledge = _answers().advisor.knowledge
    return [
        "Does an answer withstand its own table? A law says what must hold of one answer (the cheapest plan is the "
        "answer under `cheapest`), a relation what must hold between two (a lower price for the winner keeps it). Each "
        "is counted on generated workloads, from the JSON of the answers, as an outsider could.",
        "",
        f"Written by `python benchmarks/decisions.py --write`: {options.sample} generated workloads "
        f"(seed {options.seed}), {recommended} with a recommendation; for {min(options.sweep, options.sample)} of them "
        f"`size` was run over all cards and counts (*swept*). {len(knowledge.plannable)} GPUs, "
        f"{len(knowledge.offers):,} offers; {seconds:.0f} s.",
        "",
        "* **Cost** is by the month for a service, by the run (else by the piece) for a job, by the hour for trying "
        "things out. **Speed** is the mean time of an answer for a service, the rate of work elsewhere.",
        "* **Of equal standing** is a proven plan of the same vendor, in a segment no lower, on no more machines, with "
        "no more cards on PCIe, on an architecture that software still serves.",
        "* Rows without a bar are counted for the record. Every miss is listed below the tables.",
    ]


if __name__ == "__main__":
    main()
