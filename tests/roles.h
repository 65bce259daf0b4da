/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests with several real processes. Every role of a test is a process of its own, forked
 * before it uses the model; they talk over sockets, and each ends with what it found. What does
 * not hold in a role ends it with a line on stderr, and fails the test. */
#ifndef SP_ROLES_H
#define SP_ROLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <starpool/model.h>

#include "src/model/model.h"

/* How a role that found something wrong ends. */
#define SP_ROLE_CODE 1

/* [bytes] of the blocks that sp_role_block() makes. */
#define SP_ROLE_SIZE ((size_t)1 << 20)

/* What holds in a role. */
#define EXPECT(condition)                                                                 \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            _exit(SP_ROLE_CODE);                                                          \
        }                                                                                 \
    } while (0)

/* A call in a role, and the result that it must have. */
#define EXPECT_CU(code, call)                                                                  \
    do {                                                                                       \
        sp_cu_result expect_got = (call);                                                      \
        if (expect_got != SP_CU_##code) {                                                      \
            fprintf(stderr, "%s:%d: %s: %d instead of " #code "\n", __FILE__, __LINE__, #call, \
                    expect_got);                                                               \
            _exit(SP_ROLE_CODE);                                                               \
        }                                                                                      \
    } while (0)

/* The model's table, in a role. */
extern const struct sp_driver *cu;

/* A role gets a socket to each of the others, by their indexes. */
typedef void (*sp_role_fn)(const int *sockets);

/* Run up to three roles at once (NULL: none), all of which must find what they expect. */
void sp_roles_run(sp_role_fn first, sp_role_fn second, sp_role_fn third);

/* Two roles, of which one kills itself. */
void sp_roles_run_with_death(sp_role_fn survivor, sp_role_fn victim);
void sp_role_die(void);

/* One message, with a descriptor unless that is -1; and the next message, which must have this
 * size, with the descriptor that came with it, or -1. */
void sp_role_send(int socket, const void *data, size_t size, int file);
int sp_role_receive(int socket, void *data_out, size_t size);

/* "Go on": the other role has come to the same place; or it is no more. */
void sp_role_signal(int socket);
void sp_role_wait(int socket);
void sp_role_wait_for_end(int socket);

/* What a process holds. */
struct sp_holdings {
    unsigned n_files;
    unsigned n_maps;   /* of shared memory */
    size_t free_bytes; /* of device 0 */
};

/* Make device 0's primary context current; and require that nothing has been lost since, and
 * nothing undefined was done. */
void sp_role_begin(struct sp_holdings *before_out);
void sp_role_end(const struct sp_holdings *before);

/* ---- what must succeed ---------------------------------------------------------------------
 */

struct sp_cu_pool_props sp_role_props(int handle_types);
sp_cu_pool sp_role_pool(void); /* can be shared as a descriptor */
sp_cu_stream sp_role_stream(void);
int sp_role_export(sp_cu_pool pool);

/* This may fail. */
sp_cu_result sp_role_import(int file, sp_cu_pool *pool_out);

/* A block of the pool, filled, and its fill seen to have executed. */
sp_cu_ptr sp_role_block(sp_cu_pool pool, sp_cu_stream stream, unsigned char value);

/* Send a pool and a block of it. */
void sp_role_send_block(int socket, sp_cu_pool pool, sp_cu_ptr ptr);
void sp_role_receive_block(int socket, sp_cu_pool *pool_out, sp_cu_ptr *ptr_out);

/* All of the block's bytes have that value. */
bool sp_role_holds(sp_cu_ptr ptr, unsigned char value);

uint64_t sp_role_attribute(sp_cu_pool pool, int id);

/* A stream that waits until its flag is raised. */
_Atomic uint32_t *sp_role_stall(sp_cu_stream stream);
void sp_role_let_go(_Atomic uint32_t *flag, sp_cu_stream stream);

#endif /* SP_ROLES_H */
