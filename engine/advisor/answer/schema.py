"""The JSON Schemas (draft 2020-12) of what is handed out: a decision, its record, a size answer, a refused line.

The keys named here are stable: none is renamed, removed or given another type within a format number. Keys may be
added, so a reader must ignore those that it does not know.
"""

from __future__ import annotations

import json

from whichgpu.engine.advisor.objectives import shipped_objectives


DECISION_FORMAT = "whichgpu.decision/1"
RECORD_FORMAT = "whichgpu.record/1"

#: What ``--jsonl`` leaves out of each line unless ``--full`` is given.
BULKY_KEYS = ("trace", "rules", "rejected", "outranked")

Schema = dict[str, object]

_DATE = r"^\d{4}-\d{2}-\d{2}"
_ORIGINS = ["given", "looked_up", "computed", "derived", "assumed"]
_TRACE_KINDS = [*_ORIGINS, "rejected", "scored", "advised"]
#: Where a plan lost to the answer.
_BELOW_FOR = ["unverified", "fallback", "guide_counts", "guide_cards", "dominated", "merit", "score"]


def decision_schema() -> Schema:
    """The schema of ``whichgpu.decision/1``, with the other shapes under ``$defs``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": DECISION_FORMAT,
        "description": "What `whichgpu recommend FILE --format json` prints. Decimal GB, US dollars.",
        "$ref": "#/$defs/decision",
        "$defs": _definitions(),
    }


def schema_of(shape: str) -> Schema:
    """The schema of one shape: ``decision``, ``decision_line``, ``record``, ``size_answer`` or ``refused_line``.

    Raises:
        KeyError: There is no such shape.
    """
    definitions = _definitions()
    if shape not in definitions:
        raise KeyError(shape)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": f"#/$defs/{shape}", "$defs": definitions}


def schema_text() -> str:
    """The committed form, ``docs/decision.schema.json``."""
    return json.dumps(decision_schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


def _list(items: Schema, **more: object) -> Schema:
    return {"type": "array", "items": items, **more}


def _nullable(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str) and set(schema) <= {"type", "minimum", "exclusiveMinimum", "pattern"}:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_TEXT: Schema = {"type": "string"}
_WORD: Schema = {"type": "string", "minLength": 1}
_NUMBER: Schema = {"type": "number"}
_AMOUNT: Schema = {"type": "number", "minimum": 0}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_FLAG: Schema = {"type": "boolean"}
_WORDS: Schema = {"type": "array", "items": _WORD}


def _definitions() -> Schema:
    return {
        "decision": _decision(full=True),
        "decision_line": _decision(full=False),
        "value": {"type": ["boolean", "number", "string", "array"], "items": {"type": ["boolean", "number", "string"]}},
        "plan": _plan(),
        "memory": _memory(),
        "speed": {"type": "object", "additionalProperties": _nullable(_NUMBER)},
        "cost": _cost(),
        "points": _object({"rule": _nullable(_WORD), "reason": _WORD, "points": _NUMBER, "because": _TEXT}),
        "candidate": _candidate(),
        "rejection": _object(
            {"gpu": _WORD, "family": _WORD, "rule": _nullable(_WORD), "reason": _TEXT, "counts": _list(_COUNT)},
        ),
        "remark": _object(
            {"code": _WORD, "text": _TEXT, "because": _TEXT, "rule": _nullable(_WORD), "sources": _WORDS},
        ),
        "target": _object(
            {"code": _WORD, "text": _TEXT, "because": _TEXT, "rule": _nullable(_WORD), "sources": _WORDS},
            {"low": _nullable(_NUMBER), "high": _nullable(_NUMBER), "unit": _nullable(_TEXT)},
        ),
        "disagreement": _object(
            {
                "id": _WORD,
                "positions": _list(_object({"source": _WORD, "says": _TEXT})),
                "followed": _nullable(_TEXT),
                "why": _nullable(_TEXT),
            },
        ),
        "trace_entry": _trace_entry(),
        "verdict": _verdict(),
        "record": _record(),
        "size_answer": _size_answer(),
        "refused_line": _refused_line(),
    }


def _decision(*, full: bool) -> Schema:
    required: Schema = {
        "format": {"const": DECISION_FORMAT},
        "fired_by": {"enum": ["durable-rules", "reference"]},
        "engine_version": _WORD,
        "decided_at": {"type": "string", "pattern": _DATE},
        "objective": {"enum": sorted(shipped_objectives())},
        "rulebook": _object({"version": _TEXT, "digest": _WORD, "layers": _list({"type": ["string", "object"]})}),
        "knowledge": _object({"digest": _WORD, "prices_as_of": _nullable({"type": "string", "pattern": _DATE})}),
        "facts": {
            "type": "object",
            "additionalProperties": _object(
                {"value": _ref("value"), "origin": {"enum": _ORIGINS}, "seq": _nullable({"type": "integer"})}
            ),
        },
        "recommendation": _nullable(_ref("plan")),
        "no_answer": _nullable(
            _object(
                {"kind": {"enum": ["nothing_fits", "facts_missing", "contradictory"]}, "why": _WORD, "facts": _WORDS},
                {"relaxable": _list(_WORDS)},
            )
        ),
        "alternatives": _list(_ref("plan"), maxItems=60),
        "candidates": _list(_ref("candidate")),
        "phases": _list(_object({"phase": _WORD, "recommendation": _nullable(_ref("plan"))})),
        "sizing": {"type": "object", "additionalProperties": _nullable(_NUMBER)},
        "figures": {
            "type": "object",
            "additionalProperties": _object(
                {
                    "value": {"type": ["number", "string", "boolean", "array"]},
                    "unit": _nullable(_TEXT),
                    "sources": _WORDS,
                }
            ),
        },
        "procurement": _object(
            {
                "verdict": {"enum": ["rent", "buy", "hybrid", "undecided"]},
                "because": _TEXT,
                "thresholds": _list(
                    _object(
                        {"id": _WORD, "says": {"enum": ["rent", "own", "undecided", "unknown"]}},
                        {"in_scope": {"type": "boolean"}, "agrees": _nullable({"type": "boolean"})},
                    )
                ),
            },
            {"comparison": _nullable(_comparison())},
        ),
        "advice": _list(_ref("remark")),
        "warnings": _list(_ref("remark")),
        "monitoring": _list(_ref("target")),
        "disagreements": _list(_ref("disagreement")),
        "assumptions": _list(
            _object(
                {
                    "fact": _WORD,
                    "value": _ref("value"),
                    "may_change": _nullable({"type": ["string", "array", "boolean"]}),
                }
            )
        ),
        "open_questions": _list(
            _object(
                {"fact": _WORD, "question": _TEXT, "may_change": _nullable({"type": ["string", "array", "boolean"]})}
            )
        ),
    }
    more: Schema = {"objective_stated": _FLAG, "trade_offs": _list(_trade_off())}
    bulky: Schema = {
        "rejected": _list(_ref("rejection")),
        "trace": _list(_ref("trace_entry")),
        "rules": _list(_ref("verdict")),
        "outranked": _list(_outranked()),
    }
    problem = {"plan": _WORD, "figure": _WORD, "value": {"type": ["number", "string"]}, "why": _WORD}
    refused: Schema = {"refused": _list(_object(problem))}
    answered: Schema = {
        "if": {"properties": {"recommendation": {"type": "null"}}},
        "then": {"properties": {"no_answer": {"type": "object"}}},
        "else": {"properties": {"no_answer": {"type": "null"}}},
    }
    if full:
        return {**_object({**required, **bulky}, {**more, **refused, "interview": _interview()}), **answered}
    return {**_object(required, {**more, **bulky, **refused, "id": {}}), **answered}


def _comparison() -> Schema:
    """Renting against owning over the horizon; records of before it was printed lack it."""
    amount = _nullable(_NUMBER)
    band = _nullable(_list(_NUMBER, minItems=2, maxItems=2))
    return _object(
        {
            "horizon_years": _NUMBER,
            "rent_usd": amount,
            "own_usd": amount,
            "hybrid_usd": amount,
            "ratio": amount,
            "clear": {"type": "boolean"},
            "says": {"enum": ["rent", "own", "even", "unknown"]},
            "entries": _list(
                _object(
                    {
                        "side": {"enum": ["rent", "own"]},
                        "name": _WORD,
                        "usd": _NUMBER,
                        "formula": _TEXT,
                        "source": _TEXT,
                    }
                )
            ),
        },
        {
            "horizon_assumed": {"type": "boolean"},
            "rent_band_usd": band,
            "own_band_usd": band,
            "clear_ratio": _NUMBER,
            "rent_is_stated_bill": {"type": "boolean"},
            "rent_usd_per_hour": amount,
            "own_usd_per_hour": amount,
            "already_owned": {"type": "boolean"},
            "sold": {"type": "boolean"},
            "owned_as": _nullable(_WORD),
            "bought_count": _nullable({"type": "integer"}),
            "lacking": _WORDS,
            "crossing_months": amount,
            "course": _list(_object({"months": _NUMBER, "rent_usd": _NUMBER, "own_usd": _NUMBER})),
        },
    )


def _interview() -> Schema:
    """How an interview led to the facts: there only where one did."""
    missing = {"fact": _WORD, "assumed": {}, "robust": {"type": "boolean"}, "changes": _list({"type": "object"})}
    return _object(
        {
            "answered": _list(_object({"fact": _WORD, "origin": {"enum": ["asked", "stated", "file"]}})),
            "unknown": _list(_object(missing)),
            "unasked": _list(_object({"fact": _WORD, "why": _WORD, "checked": _WORD})),
        }
    )


def _plan() -> Schema:
    parallelism = _object({"tensor": _COUNT, "pipeline": _COUNT, "data": _COUNT, "sharding": _nullable(_WORD)})
    return _object(
        {
            "gpu": _WORD,
            "family": _WORD,
            "count": _COUNT,
            "nodes": _COUNT,
            "link": _nullable(_WORD),
            "node_link": _nullable(_WORD),
            "parallelism": parallelism,
            "precision": _nullable(_WORD),
            "offer": _nullable(_offer()),
            "memory": _nullable(_ref("memory")),
            "speed": _ref("speed"),
            "cost": _ref("cost"),
            "power_w": _nullable(_AMOUNT),
            "proven": _FLAG,
            "score": _nullable(_NUMBER),
            "points": _list(_ref("points")),
        },
        {
            "id": _WORD,
            "chosen_over": _list(_chosen_over()),
            "stands_in_for": _described(
                _nullable(_beside({"score": _NUMBER, "rules": _list(_WORD)})),
                "The plan that the evidence puts first, and that the answer, its equal, beats in cost and speed.",
            ),
            "preference_cost": _nullable(_beside({"share": _nullable(_NUMBER)})),
            "claims": _list(_claim()),
            "dominated_by": _nullable(_WORD),
            "below_for": _nullable({"enum": _BELOW_FOR}),
            "cost_ratio": _described(
                _nullable(_NUMBER), "An alternative's cost by the answer's, as choosing compares."
            ),
            "speed_ratio": _described(_nullable(_NUMBER), "Its speed by the answer's."),
            "unverified": _list(_object({"limit": _WORD, "figure": _WORD, "text": _WORD})),
        },
    )


def _beside(more: Schema) -> Schema:
    """A plan beside the answer: ratios are its figure by the answer's, the price is what the answer costs more."""
    amounts: Schema = {
        name: _nullable(_NUMBER) for name in ("usd_per_hour", "cost_ratio", "speed_ratio", "price_usd_per_hour")
    }
    return _object({"id": _WORD, "gpu": _WORD, "count": _COUNT, **amounts, **more})


def _outranked() -> Schema:
    """A plan that no rule rejects and that is not shown whole."""
    return _object(
        {"id": _WORD, "gpu": _WORD, "count": _COUNT, "proven": _FLAG, "score": _NUMBER},
        {"dominated_by": _nullable(_WORD), "below_for": _nullable({"enum": _BELOW_FOR})},
    )


def _chosen_over() -> Schema:
    reasons = ["unverified", "fallback", "guide_cards", "guide_counts", "evidence"]
    return _beside(
        {"reason": {"enum": reasons}, "rule": _nullable(_WORD), "because": _TEXT, "facts": _WORDS, "sources": _WORDS}
    )


def _claim() -> Schema:
    """What a guide says of the answer's card, beside what is computed of it."""
    return _object(
        {
            "rule": _WORD,
            "quantity": {"enum": ["speed", "cost", "throughput_per_usd", "efficiency"]},
            "claimed_ratio": _nullable(_NUMBER),
            "over": _nullable(_WORD),
            "compared_with": _object({"gpu": _WORD, "count": _COUNT}),
            "per_gpu": _FLAG,
            "computed_ratio": _NUMBER,
            "agrees": _FLAG,
            "text": _TEXT,
        }
    )


def _trade_off() -> Schema:
    """What would be cheaper or faster if one thing were allowed; ratios are its figure by the answer's."""
    kinds = ["precision", "spot", "place", "card", "target", "budget", "load", "objective", "commitment", "owned"]
    change: Schema = {"type": "object", "additionalProperties": _nullable(_ref("value"))}
    amounts: Schema = {name: _nullable(_NUMBER) for name in ("cost_ratio", "speed_ratio", "usd_per_hour_delta")}
    return _object(
        {
            "kind": {"enum": kinds},
            "change": _described(_nullable(change), "The fact to state instead; null takes it away."),
            "says": _TEXT,
            "plan": _object({"id": _WORD, "gpu": _WORD, "count": _COUNT, "usd_per_hour": _nullable(_AMOUNT)}),
            **amounts,
        },
        {"term_months": _nullable(_COUNT)},
    )


def _memory() -> Schema:
    return _object(
        {
            "needed_gb": _AMOUNT,
            "per_gpu_gb": _AMOUNT,
            "allocated_gb": _AMOUNT,
            "available_per_gpu_gb": _nullable(_AMOUNT),
            "headroom_pct": _nullable(_NUMBER),
            "breakdown": {"type": "object", "additionalProperties": _NUMBER},
            "low_gb": _AMOUNT,
            "high_gb": _AMOUNT,
        },
    )


def _offer() -> Schema:
    return _object(
        {
            "provider_class": _nullable(_TEXT),
            "instance": _nullable(_TEXT),
            "as_of": _nullable({"type": "string", "pattern": _DATE}),
        },
        {
            "provider": _nullable(_TEXT),
            "gpus_per_instance": {**_COUNT, "description": "GPUs in one machine of this offer."},
            "usd_per_instance_hour": {**_AMOUNT, "description": "What one machine of this offer costs on demand."},
            "instances": _described(_nullable(_COUNT), "How many of these machines hold the plan."),
            "region": _nullable(_TEXT),
            "source": _TEXT,
        },
    )


def _cost() -> Schema:
    names = ("usd_per_hour", "usd_per_month", "usd_per_1m_tokens", "usd_per_run")
    more = {name: _nullable(_AMOUNT) for name in ("usd_per_1k_samples", "rented_usd_per_hour")}
    return _object(
        {name: _nullable(_AMOUNT) for name in names}, {**more, "rented_from": _nullable(_offer()), **_rent()}
    )


def _rent() -> Schema:
    """What is known of renting the plan, whether or not that is its price."""
    commitment = _object(
        {
            "term_months": _COUNT,
            "usd_per_hour": _AMOUNT,
            "provider": _TEXT,
            "instance": _nullable(_TEXT),
            "instances": _COUNT,
            "region": _nullable(_TEXT),
            "source": _TEXT,
        }
    )
    return {
        "lowest_usd_per_hour": _described(_nullable(_AMOUNT), "The lowest price of a provider that covers the plan."),
        "lowest_offer": _nullable(_offer()),
        "quotes": {"type": "integer", "minimum": 0, "description": "Providers whose offers cover the plan."},
        "compared": _list(
            _object({"provider": _TEXT, "usd_per_hour": _AMOUNT}),
            description="The lowest of them, whose median is the price to rent.",
        ),
        "assumed": {**_FLAG, "description": "No machine on the list is large enough: scaled up from smaller ones."},
        "nearest_offer": _described(_nullable(_offer()), "Where assumed: the largest machine that is offered."),
        "instances": _described(_nullable(_COUNT), "Machines that are rented, or would be."),
        "spot_usd_per_hour": _described(_nullable(_AMOUNT), "The same shape where it may be taken away at any time."),
        "committed": _list(commitment, description="The lowest price of the same shape for each term of commitment."),
    }


def _described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def _candidate() -> Schema:
    return _object(
        {
            "gpu": _WORD,
            "family": _WORD,
            "verdict": {"enum": ["recommended", "alternative", "outranked", "rejected", "unproven"]},
            "reason": _TEXT,
            "rule": _nullable(_WORD),
            "plan": _nullable(_ref("plan")),
            "facts": {"type": "object"},
        },
    )


def _trace_entry() -> Schema:
    matched = _object(
        {"fact": _nullable(_TEXT), "value": {}, "seq": _nullable({"type": "integer"})}, {"condition": _nullable(_TEXT)}
    )
    return _object(
        {
            "seq": {"type": "integer", "minimum": 0},
            "kind": {"enum": _TRACE_KINDS},
            "scope": _WORD,
            "matched": _list(matched),
            "effects": {"type": ["array", "object"]},
            "sources": _WORDS,
        },
        {"rule": _nullable(_WORD), "calculator": _nullable(_WORD), "because": _nullable(_TEXT)},
    )


def _verdict() -> Schema:
    outcomes = ["fired", "overridden", "undecided", "not_fired"]
    return _object(
        {"id": _WORD, "verdict": {"enum": outcomes}},
        {"by": _nullable(_WORD), "missing": _WORDS, "failed": _nullable(_TEXT), "value": {}, "scope": _nullable(_TEXT)},
    )


def _record() -> Schema:
    return _object(
        {
            "format": {"const": RECORD_FORMAT},
            "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "decision": _ref("decision"),
        },
    )


def _size_answer() -> Schema:
    return _object(
        {
            "id": {},
            "gpu": _WORD,
            "count": _COUNT,
            "fits": _nullable(_FLAG),
            "tight": _nullable(_FLAG),
            "needed_gb": _AMOUNT,
            "per_gpu_gb": _AMOUNT,
            "allocated_gb": _AMOUNT,
            "available_per_gpu_gb": _nullable(_AMOUNT),
            "low_gb": _AMOUNT,
            "high_gb": _AMOUNT,
            "breakdown": {"type": "object", "additionalProperties": _NUMBER},
            "speed": _ref("speed"),
        },
    )


def _refused_line() -> Schema:
    error = _object({"code": _WORD, "message": _WORD, "fact": _nullable(_TEXT), "nearest": _list(_TEXT)})
    return _object({"id": {}, "error": error})
