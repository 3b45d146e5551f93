from .band_constants import MemoryBands as MemoryBands
from .band_formulas import BandFormulas as BandFormulas
from .bands import fit_odds as fit_odds
from .calculators_required import memory_calculators as memory_calculators
from .composed import composed_spec as composed_spec
from .constants import SizingConstants as SizingConstants, sizing_constants as sizing_constants
from .demand import (
    PERCENTILE as PERCENTILE,
    Demand as Demand,
    Targets as Targets,
    at_percentile as at_percentile,
    demand_of as demand_of,
    targets_of as targets_of,
)
from .fit_changes import FitChange as FitChange, fit_changes_of as fit_changes_of
from .gpu_table import GpuTable as GpuTable
from .host_memory import offloaded_gb as offloaded_gb
from .intake import job_from_facts as job_from_facts
from .job import Assumed as Assumed, Job as Job
from .job_tracing import traced_job as traced_job
from .layout import Layout as Layout
from .memory import (
    batch_of as batch_of,
    card_columns as card_columns,
    estimate_memory as estimate_memory,
    granted_column as granted_column,
    granted_of as granted_of,
    memory_columns as memory_columns,
    own_column as own_column,
)
from .model import (
    Figure as Figure,
    MemoryColumns as MemoryColumns,
    MemoryEstimate as MemoryEstimate,
    SpeedEstimate as SpeedEstimate,
    Term as Term,
)
from .rank_shares import expert_sharers as expert_sharers
from .rows import (
    SHARDINGS as SHARDINGS,
    Bools as Bools,
    Floats as Floats,
    Ints as Ints,
    Rows as Rows,
    ceiling as ceiling,
    degrees_of as degrees_of,
    rows_of as rows_of,
)
from .serving_load import SustainedLoad as SustainedLoad
from .serving_reserve import (
    PIPELINE_SHARE as PIPELINE_SHARE,
    reserve_of as reserve_of,
)
from .speed import JobSpeed as JobSpeed, rows_of_values as rows_of_values
from .speed_constants import SpeedConstants as SpeedConstants
from .speed_links import (
    NO_LINK as NO_LINK,
    LinkSpeed as LinkSpeed,
    Split as Split,
    choose as choose,
    link_speed as link_speed,
    network_of as network_of,
    split_of as split_of,
)
from .states import splits_models as splits_models
from .support import Support as Support, figure_support as figure_support, group_of as group_of
from .training_time import BATCHES_OF_A_STAGE as BATCHES_OF_A_STAGE
