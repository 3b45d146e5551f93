from .model import FactCandidate as FactCandidate, ResolvedFact as ResolvedFact, ResolvedFacts as ResolvedFacts
from .run import FactResolver as FactResolver
