/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What StarPU keeps of a machine, for machines that are simulated. */
#ifndef SP_SIMULATE_HOME_H
#define SP_SIMULATE_HOME_H

#include <stdbool.h>
#include <stdint.h>

#include "src/tools/tools.h"

/* A machine with simulated devices. */
struct sp_simulated {
    unsigned n_devices;
    uint64_t memory; /* of each device [bytes] */
    bool has_peers;  /* devices reach each other's memory */
};

/*
 * Give StarPU a home of its own, for this and every later run with such devices:
 * $XDG_CACHE_HOME/starpool/simulate, and a host name that tells the devices. SP_EXIT_DONE, or
 * SP_EXIT_UNAVAILABLE after a message.
 */
enum sp_exit sp_simulate_home(const struct sp_simulated *machine);

/*
 * Write what StarPU 1.3 would measure of the buses before its first task: simulated devices
 * have the speeds of the cost model and not those of a copy in memory. What is there is kept.
 * Where StarPU counts what this process cannot foresee (NUMA nodes, OpenCL devices, a topology
 * that is not this machine's), nothing is written, and StarPU measures.
 */
void sp_simulate_write_buses(const struct sp_simulated *machine);

#endif /* SP_SIMULATE_HOME_H */
