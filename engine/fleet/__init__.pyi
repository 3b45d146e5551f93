from .checking import Checked as Checked, check_result as check_result
from .compare import Difference as Difference, FleetDifference as FleetDifference, compare_results as compare_results
from .figures import TWICE as TWICE, FleetFigures as FleetFigures, Sums as Sums, figures_of as figures_of
from .formats import FORMS as FORMS, default_form as default_form
from .mapping import (
    AS_WORKLOADS as AS_WORKLOADS,
    JobMap as JobMap,
    map_of_result as map_of_result,
    read_map as read_map,
)
from .ray_workers import RayTasks as RayTasks
from .run import Progress as Progress, run_fleet as run_fleet
from .sources import Jobs as Jobs, open_jobs as open_jobs
from .store import (
    FORMAT as FORMAT,
    Manifest as Manifest,
    Store as Store,
    is_result as is_result,
    read_manifest as read_manifest,
    read_parts as read_parts,
)
from .workers import Here as Here, Orders as Orders, Processes as Processes, Workers as Workers
