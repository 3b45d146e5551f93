from .again import (
    decide_again as decide_again,
    recorded_facts as recorded_facts,
    recorded_moment as recorded_moment,
    unstated_objective as unstated_objective,
)
from .arithmetic import (
    NO_ARITHMETIC as NO_ARITHMETIC,
    Arithmetic as Arithmetic,
    arithmetic_of as arithmetic_of,
    check_arithmetic as check_arithmetic,
)
from .as_of import (
    DecidedAgain as DecidedAgain,
    answer_request as answer_request,
    decide_from_folder as decide_from_folder,
    decide_from_slice as decide_from_slice,
)
from .canonical import sha256_of as sha256_of
from .data_slice import sources_in as sources_in
from .first_form import Record as Record, decision_digest as decision_digest, make_record as make_record
from .keyring import Keyring as Keyring
from .plan_lines import plan_id as plan_id
from .policy import Breach as Breach, breaches as breaches
from .reading import MAX_BYTES as MAX_BYTES, Saved as Saved, Standing as Standing, read_saved as read_saved
from .record_types import SignedRecord as SignedRecord
from .register import Entry as Entry, Register as Register, by_quarter as by_quarter
from .signing import PublicKey as PublicKey, SigningKey as SigningKey, can_sign as can_sign, read_public as read_public
from .statement import (
    Asked as Asked,
    engine_digest as engine_digest,
    make_statement as make_statement,
    read_meta as read_meta,
    record_text as record_text,
    source_revision as source_revision,
    vocabulary_in as vocabulary_in,
)
