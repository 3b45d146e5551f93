from .bundle import Knowledge as Knowledge, KnowledgeLayer as KnowledgeLayer
from .config_names import names_a_config as names_a_config
from .configs import model_from_config as model_from_config
from .exchange import CurrenciesFile as CurrenciesFile, currencies as currencies, per_usd as per_usd
from .facts_of_gpus import gpu_facts as gpu_facts, sources_of_fact as sources_of_fact
from .gpu_names import GpuMatch as GpuMatch, GpuNames as GpuNames
from .jobs import (
    Family as Family,
    JobProfile as JobProfile,
    JobSupport as JobSupport,
    Level as Level,
    weakest as weakest,
)
from .loading import load_knowledge as load_knowledge, with_offers as with_offers
from .model import Gpu as Gpu, ModelSpec as ModelSpec, Offer as Offer, SourceRecord as SourceRecord
from .model_names import ModelMatch as ModelMatch, ModelNames as ModelNames
from .parameters import ParameterCount as ParameterCount, parameter_count as parameter_count
from .prices import (
    COLUMNS as COLUMNS,
    PriceFeedsFile as PriceFeedsFile,
    merged as merged,
    offer_order as offer_order,
    parse_prices as parse_prices,
    price_feeds as price_feeds,
)
from .schemas import entry_schemas as entry_schemas, knowledge_file_schemas as knowledge_file_schemas
from .tasks import (
    TaskProfile as TaskProfile,
    TasksFile as TasksFile,
    check_profiles as check_profiles,
    job_of_name as job_of_name,
    job_profile as job_profile,
    profile_of as profile_of,
    task_profiles as task_profiles,
    tasks_file as tasks_file,
)
