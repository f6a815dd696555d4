"""Every fault, one file each. A new one is a file with FAULTS, and its name here."""

from . import (backup, clocks, crash, damage, deliveries, disk_full, drain, files, missing_store, postgres_fails, power_cut, same_key,
               slow_sync, sync_fails)

FAULTS = [
    fault
    for case in (crash, deliveries, drain, same_key, sync_fails, power_cut, disk_full, slow_sync, files, missing_store, damage, clocks,
                 postgres_fails, backup)
    for fault in case.FAULTS
]
