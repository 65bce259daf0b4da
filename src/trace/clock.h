/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of traces: the processor's counter where it runs at one rate in all states, else
 * the system's. */
#ifndef SP_TRACE_CLOCK_H
#define SP_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

/* [ns] Times of different threads may be in the wrong order by so much: what a processor has in
 * flight, on a bad day. */
#define SP_TRACE_SKEW_NS 1000

/* CLOCK_MONOTONIC. */
static inline uint64_t sp_trace_system_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)

/* Bit 8 of EDX: the counter is invariant. Source: Intel 64 and IA-32 Architectures Software
 * Developer's Manual, volume 3, section "Invariant TSC"; AMD64 has the same bit. */
static inline bool sp_trace_has_counter(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
}

/* Without a barrier, which would double the price: the processor may read the counter somewhat
 * early, before what stands in front has been loaded. Readers allow for it; see
 * SP_TRACE_SKEW_NS. */
static inline uint64_t sp_trace_counter(void)
{
    return __rdtsc();
}

#elif defined(__aarch64__)

static inline bool sp_trace_has_counter(void)
{
    return true;
}

static inline uint64_t sp_trace_counter(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
}

#else

static inline bool sp_trace_has_counter(void)
{
    return false;
}

static inline uint64_t sp_trace_counter(void)
{
    return sp_trace_system_ns();
}

#endif

static inline uint64_t sp_trace_ticks(bool is_counter)
{
    return __builtin_expect(is_counter, 1) ? sp_trace_counter() : sp_trace_system_ns();
}

#endif /* SP_TRACE_CLOCK_H */
