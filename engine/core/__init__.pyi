from .arithmetic_tracing import (
    as_inputs as as_inputs,
    given as given,
    marked as marked,
    named as named,
    remembered as remembered,
    solved as solved,
    traceable as traceable,
    tracing as tracing,
)
from .calculators import Calculator as Calculator, calculator as calculator, registered as registered
from .canonical import canonical_json as canonical_json, digest as digest, json_value as json_value, rounded as rounded
from .compiled import (
    compiled_key as compiled_key,
    keeps_compiled as keeps_compiled,
    recall_compiled as recall_compiled,
    remember_compiled as remember_compiled,
)
from .constants import (
    TURNED as TURNED,
    Banded as Banded,
    Pick as Pick,
    read_constants as read_constants,
)
from .errors import (
    InputError as InputError,
    InternalError as InternalError,
    KnowledgeError as KnowledgeError,
    Place as Place,
    Problem as Problem,
    RulebookError as RulebookError,
    WhichgpuError as WhichgpuError,
    nearest_names as nearest_names,
    nearest_words as nearest_words,
)
from .fact_table import (
    NO_YES as NO_YES,
    Codes as Codes,
    Column as Column,
    FactTable as FactTable,
    NumberColumn as NumberColumn,
    Numbers as Numbers,
    WordColumn as WordColumn,
    column_of as column_of,
    yes_no as yes_no,
)
from .folders import (
    CONSTANT_FILES as CONSTANT_FILES,
    LAYER_FILE as LAYER_FILE,
    LAYER_FILES as LAYER_FILES,
    RECORD_FORMS as RECORD_FORMS,
    distinct as distinct,
    is_rule_file as is_rule_file,
    knowledge_files as knowledge_files,
    layer_names as layer_names,
    locate as locate,
    read_data_from as read_data_from,
)
from .gc_pause import (
    collect_rarely as collect_rarely,
    collect_youngest as collect_youngest,
    collection_paused as collection_paused,
)
from .on_demand import OnDemand as OnDemand, RecordsOnDemand as RecordsOnDemand
from .parameters import (
    KnowledgeInUse as KnowledgeInUse,
    Parameter as Parameter,
    kept_in_use as kept_in_use,
    knowledge_in_use as knowledge_in_use,
    use_knowledge as use_knowledge,
)
from .policy import (
    POLICY_FILE as POLICY_FILE,
    Policy as Policy,
    PolicyList as PolicyList,
    read_policy as read_policy,
)
from .records import (
    FrozenModel as FrozenModel,
    RecordError as RecordError,
    model_of as model_of,
    record_of as record_of,
    records_of as records_of,
)
from .short_columns import among as among, distinct_numbers as distinct_numbers, known_or as known_or
from .traced import (
    OPERATIONS as OPERATIONS,
    Traced as Traced,
    as_number as as_number,
    column_of_numbers as column_of_numbers,
    made as made,
    plain_number as plain_number,
    taken as taken,
    traced_facts as traced_facts,
)
from .values import (
    Facts as Facts,
    Scalar as Scalar,
    Value as Value,
    is_number as is_number,
    number as number,
    usd_words as usd_words,
)
from .version import VERSION as VERSION
from .yaml.cache import sources_alone as sources_alone
from .yaml.filling import filled as filled
from .yaml.node import (
    MappingNode as MappingNode,
    Node as Node,
    ScalarNode as ScalarNode,
    SequenceNode as SequenceNode,
    find as find,
    key_place as key_place,
    place_of as place_of,
    place_within as place_within,
)
from .yaml.plain import plain as plain, typed as typed, untyped as untyped
from .yaml.reading import (
    Document as Document,
    read_document as read_document,
    read_yaml as read_yaml,
    read_yaml_text as read_yaml_text,
    unreadable as unreadable,
)
