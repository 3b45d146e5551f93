from .certificate import (
    Answered as Answered,
    Completions as Completions,
    Counterexample as Counterexample,
    Unasked as Unasked,
    answered as answered,
    check_certificate as check_certificate,
)
from .partial_plans import Watched as Watched
from .planner import Done as Done, Interviewer as Interviewer, Question as Question
from .state import Answer as Answer, Origin as Origin, State as State
from .sureness import LIKELY as LIKELY, Sureness as Sureness
from .tried_answers import (
    Effect as Effect,
    effects_of as effects_of,
    missing_answers as missing_answers,
    waiting_for as waiting_for,
)
