/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that no two live blocks overlap, in addresses or in order, with data structures of its
 * own: dense clocks and a tree of what was where. It is told the same facts as the order and
 * the heap that it checks, and shares nothing with them. No lock: its user holds one. */
#ifndef SP_CHECKER_H
#define SP_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_checker;

/* A violation that was found; the first is kept in words. */
struct sp_checker_report {
    uint64_t n_checked; /* allocations, each against all that was at its addresses */
    uint64_t n_violations;
    char first[256]; /* "" if none */
};

/* NULL if there is no memory. */
struct sp_checker *sp_checker_create(void);
void sp_checker_destroy(struct sp_checker *checker);

/* Streams are named by slot and by an id that no two share. */
void sp_checker_stream(struct sp_checker *checker, uint32_t slot, uint64_t id);

/* An operation of a stream, numbered as the order numbers it. */
void sp_checker_submit(struct sp_checker *checker, uint32_t slot, uint64_t seq);

/* `slot` waits for operation `seq` of `other` as it was submitted, and so for all before it. */
void sp_checker_wait(struct sp_checker *checker, uint32_t slot, uint32_t other, uint64_t seq);

/* The host has seen that operation executed, and so all before it; or it has only executed. */
void sp_checker_see(struct sp_checker *checker, uint32_t slot, uint64_t seq);
void sp_checker_executed(struct sp_checker *checker, uint32_t slot, uint64_t seq);

/* A block is handed out at operation `seq` of `slot`, or by the host (slot UINT32_MAX); freed
 * likewise. False if that is a violation, which is counted. */
bool sp_checker_alloc(struct sp_checker *checker, uintptr_t start, size_t size, uint32_t slot,
                      uint64_t seq);
bool sp_checker_free(struct sp_checker *checker, uintptr_t start, uint32_t slot, uint64_t seq);

/* The memory is gone: what was there is forgotten. */
void sp_checker_forget(struct sp_checker *checker, uintptr_t start, size_t size);

void sp_checker_report(const struct sp_checker *checker, struct sp_checker_report *report_out);

/* What was the first violation, in words, if there was one and this has not been asked before;
 * else NULL. */
const char *sp_checker_news(struct sp_checker *checker);

#endif /* SP_CHECKER_H */
