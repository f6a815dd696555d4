"""Every fault, one file each. A new one is a file with FAULTS, and its name here."""

from . import (backup, clocks, crash, damage, deliveries, disk_errors, disk_full, drain, edges, files, hostile_bodies, many_rows,
               missing_store, overload, patroni, pause, postgres_fails, power_cut, receivers, receivers_delay, same_key, slow_clients,
               slow_sync, standby, sync_fails, sync_order, upgrade)

FAULTS = [
    fault
    for case in (crash, deliveries, receivers, receivers_delay, drain, pause, same_key, edges, sync_order, sync_fails, power_cut,
                 disk_errors, disk_full, overload, slow_sync, slow_clients, hostile_bodies, files, missing_store, damage, clocks,
                 postgres_fails, standby, patroni, upgrade, backup, many_rows)
    for fault in case.FAULTS
]
