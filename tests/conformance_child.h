/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Other processes of a case: the program itself, started anew, so that it may use a driver. */
#ifndef SP_CONFORMANCE_CHILD_H
#define SP_CONFORMANCE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

struct sp_child {
    pid_t pid;
    int socket;
};

/* A new process, which runs the case's child(role, socket) over the same kind of table. Sending
 * and receiving are whole records; 60 s without one fail the case. */
void sp_case_child_start(struct sp_child *child, const char *role);
void sp_case_child_end(struct sp_child *child); /* waits; it must have ended well */
void sp_case_child_kill(struct sp_child *child);
void sp_case_send(int socket, const void *data, size_t size);
void sp_case_receive(int socket, void *data_out, size_t size);
void sp_case_send_file(int socket, int file);
int sp_case_receive_file(int socket); /* a new descriptor, the caller's */

/* In a child: what the harness does before a case: cuInit(), contexts, device 0. */
void sp_case_start(void);

#endif /* SP_CONFORMANCE_CHILD_H */
