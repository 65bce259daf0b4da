/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cases of IPC are in two files: conformance_ipc.c has those about pools, the list, and
 * what both files use; conformance_ipc_pointer.c those about pointers and events. */
#ifndef SP_CONFORMANCE_IPC_H
#define SP_CONFORMANCE_IPC_H

#include "tests/conformance.h"

/* The two processes of a case take turns with one byte through the socket between them. */
void sp_ipc_say(int socket);
void sp_ipc_hear(int socket);

/* A pool of device 0 that the harness destroys; the case is skipped if there is none. */
sp_cu_pool sp_ipc_shareable_pool(void);

/* The pool's descriptor, the caller's to close. */
int sp_ipc_export_pool(sp_cu_pool pool);

/* The pool behind a descriptor, which is closed; the caller destroys the pool. */
sp_cu_pool sp_ipc_import_pool(int file);

struct sp_cu_pointer_export sp_ipc_export_pointer(sp_cu_ptr ptr);
sp_cu_ptr sp_ipc_import_pointer(sp_cu_pool pool, struct sp_cu_pointer_export *data);

/* To the other process; it gets the pool by sp_ipc_import_pool(sp_case_receive_file()). */
void sp_ipc_send_pool(int socket, sp_cu_pool pool);
void sp_ipc_send_pointer(int socket, sp_cu_ptr ptr);
sp_cu_ptr sp_ipc_receive_pointer(int socket, sp_cu_pool pool);

void ipc_07_an_exported_pointer_is_64_bytes_of_plain_data(void);
void ipc_07_bad_pointer_exports_are_refused(void);
void ipc_08_importing_does_not_wait_for_the_exporters_stream(void);
void ipc_09_bad_pointer_imports_are_refused(void);
void ipc_09_bytes_that_nobody_exported_are_refused(void);
void ipc_10_the_importer_frees_either_way_before_the_exporter(void);
void ipc_10_the_exporter_calls_its_free_first_in_a_stream_that_waits(void);
void ipc_10_three_processes_share_a_block_and_one_of_them_dies(void);
void ipc_10_an_importer_outlives_an_exporter_that_dies(void);
void ipc_12_a_process_imports_what_it_exported(void);
void ipc_13_a_second_import_is_the_first_again_or_counted(void);
void ipc_14_legacy_handles_are_not_for_pools(void);
void ipc_15_an_event_orders_streams_of_two_processes(void);
void ipc_15_an_event_with_timing_cannot_be_shared(void);

/* What other processes of these cases do. */
void sp_ipc_early_child(const char *role, int socket);
void sp_ipc_freeing_child(const char *role, int socket);
void sp_ipc_late_child(const char *role, int socket);
void sp_ipc_adding_child(const char *role, int socket);
void sp_ipc_exporting_child(const char *role, int socket);
void sp_ipc_waiting_child(const char *role, int socket);

#endif /* SP_CONFORMANCE_IPC_H */
