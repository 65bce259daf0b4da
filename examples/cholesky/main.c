/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A sparse Cholesky solver on StarPU: the kind of program whose allocations starpool is made
 * for, and one that knows nothing of starpool. Run it alone, or under `starpool run`.
 */
#include "numeric.h"
#include "options.h"

#include <starpu.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

/* What one factorisation took. */
struct sample {
    double seconds;
    double minor_faults;
};

struct results {
    char name[256]; /* of the matrix */
    int n;
    long n_entries;
    struct sample first;  /* of the first factorisation */
    struct sample median; /* of all of them, each number by itself */
    double analysis_seconds;
    double solve_seconds;
    double backward_error;
    struct numeric_stats stats; /* of the last factorisation */
    uint64_t hash;              /* of the last factor */
    int n_different;            /* factors that are not the one before, bit by bit */
};

struct progress {
    double began;
    double printed;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct rusage usage(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

/* A line every three seconds, so that a long run does not look like a dead one. */
static void show_progress(double done, void *argument)
{
    struct progress *progress = argument;
    double time = now();

    if (time - progress->printed < 3)
        return;
    progress->printed = time;
    fprintf(stderr, "cholesky: %.0f %% of the factor submitted after %.0f s\n", 100 * done,
            time - progress->began);
}

static enum status load(const struct options *options, struct matrix *matrix_out,
                        struct results *results, struct error *error)
{
    enum status status;

    if (options->path != NULL) {
        snprintf(results->name, sizeof(results->name), "%s", options->path);
        status = matrix_read(options->path, matrix_out, error);
    } else {
        snprintf(results->name, sizeof(results->name), "laplacian %dd:%d", options->dimensions,
                 options->side);
        status = matrix_laplacian(options->dimensions, options->side, matrix_out, error);
    }
    if (status != STATUS_OK)
        return status;
    status = matrix_check_diagonal(matrix_out, results->name, error);
    if (status != STATUS_OK)
        matrix_fini(matrix_out);
    results->n = matrix_out->n;
    results->n_entries = status == STATUS_OK ? matrix_n_entries(matrix_out) : 0;
    return status;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof(*numbers), by_size);
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

/* One factorisation is an iteration, and StarPU is told so: what it submits it waits for. */
static enum status iterate(const struct symbolic *symbolic,
                           const struct numeric_options *options, int number,
                           struct factor *factor_out, struct results *results,
                           struct error *error)
{
    enum status status;

    starpu_iteration_push((unsigned long)number);
    status = numeric_factorise(symbolic, options, factor_out, &results->stats, error);
    starpu_iteration_pop();
    return status;
}

static void compare_factors(const struct factor *factor, int number, struct results *results)
{
    uint64_t hash = factor_hash(factor);

    results->n_different += number > 0 && hash != results->hash;
    results->hash = hash;
}

/* Factorise as often as asked; the last factor is kept. */
static enum status factorise(const struct options *options, const struct symbolic *symbolic,
                             struct factor *factor_out, struct results *results,
                             struct error *error)
{
    size_t n_repeats = (size_t)options->n_repeats;
    double *seconds = calloc(2 * n_repeats, sizeof(*seconds));
    struct progress progress;
    struct numeric_options numeric_options = {
        .window = options->window,
        .progress = show_progress,
        .progress_argument = &progress,
    };
    struct factor factor = {0};
    enum status status = STATUS_OK;
    size_t i;

    if (seconds == NULL)
        return error_no_memory(error, "the times of the factorisations");
    for (i = 0; i < n_repeats && status == STATUS_OK; i++) {
        long faults;

        factor_fini(&factor);
        faults = usage().ru_minflt;
        progress.began = progress.printed = now();
        status = iterate(symbolic, &numeric_options, (int)i, &factor, results, error);
        seconds[i] = now() - progress.began;
        seconds[n_repeats + i] = (double)(usage().ru_minflt - faults);
        if (status == STATUS_OK)
            compare_factors(&factor, (int)i, results);
    }
    if (status == STATUS_OK) {
        results->first = (struct sample){seconds[0], seconds[n_repeats]};
        results->median = (struct sample){median(seconds, options->n_repeats),
                                          median(seconds + n_repeats, options->n_repeats)};
        *factor_out = factor;
    }
    free(seconds);
    return status;
}

/* Random numbers from -1 to 1. Source: S. Vigna's splitmix64, public domain. */
static void fill_random(uint64_t seed, double *vector, int n)
{
    uint64_t bits;
    int i;

    for (i = 0; i < n; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        bits = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
        bits ^= bits >> 31;
        vector[i] = 2 * ((double)(bits >> 11) / 9007199254740992.0) - 1; /* 2^53 */
    }
}

/* Solve A x = b, refine if asked, and measure how well it went. */
static enum status solve(const struct options *options, const struct matrix *matrix,
                         const struct factor *factor, struct results *results,
                         struct error *error)
{
    size_t n = (size_t)matrix->n;
    double *x = malloc(3 * n * sizeof(*x));
    double *residual;
    double *b;
    double began = now();
    enum status status;
    size_t i;

    if (x == NULL)
        return error_no_memory(error, "the solution");
    b = x + n;
    residual = b + n;
    for (i = 0; i < n; i++)
        x[i] = 1;
    if (options->has_seed)
        fill_random(options->seed, b, matrix->n);
    else
        matrix_multiply(matrix, x, b);

    status = factor_solve(factor, b, x, error);
    if (status == STATUS_OK)
        results->backward_error = matrix_backward_error(matrix, x, b, residual);
    if (status == STATUS_OK && options->refine) {
        status = factor_solve(factor, residual, residual, error);
        for (i = 0; i < n; i++)
            x[i] += residual[i];
        results->backward_error = matrix_backward_error(matrix, x, b, residual);
    }
    results->solve_seconds = now() - began;
    free(x);
    if (status == STATUS_OK && !(results->backward_error < options->accuracy))
        return error_set(error, STATUS_NUMERIC,
                         "%s: the backward error %.3g is not below %.3g; try --refine",
                         results->name, results->backward_error, options->accuracy);
    return status;
}

static void print_text(const struct options *options, const struct symbolic *symbolic,
                       const struct results *results)
{
    const double mib = 1024.0 * 1024.0;

    printf("matrix             %s\n", results->name);
    printf("rows, entries      %d, %ld\n", results->n, results->n_entries);
    printf("factor entries     %" PRIu64 " (stored: %" PRIu64 ")\n", symbolic->n_factor,
           symbolic->n_stored);
    printf("supernodes         %d\n", symbolic->n_supernodes);
    printf("front bytes        %.1f MiB, peak live %.1f MiB (%.1f %%, window %.1f %%)\n",
           (double)symbolic->front_bytes / mib, (double)results->stats.peak_live_bytes / mib,
           100 * (double)results->stats.peak_live_bytes / (double)symbolic->front_bytes,
           100 * options->window);
    printf("tasks              %" PRIu64 "\n", results->stats.n_tasks);
    printf("allocations        %" PRIu64 " temporaries, %" PRIu64 " panels\n",
           results->stats.n_temporaries, results->stats.n_panels);
    printf("analysis           %.3f s\n", results->analysis_seconds);
    printf("factorisation      %.3f s, %.0f minor faults\n", results->first.seconds,
           results->first.minor_faults);
    if (options->n_repeats > 1)
        printf("median of %-8d %.3f s, %.0f minor faults\n", options->n_repeats,
               results->median.seconds, results->median.minor_faults);
    printf("factor             %016" PRIx64 ", %d different\n", results->hash,
           results->n_different);
    printf("solve              %.3f s\n", results->solve_seconds);
    printf("peak memory        %.1f MiB\n", (double)usage().ru_maxrss / 1024);
    printf("backward error     %.3g\n", results->backward_error);
}

/* A file name may hold anything; control characters become '?', which JSON allows. */
static void print_json_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar((unsigned char)*text < 0x20 ? '?' : *text);
    }
    putchar('"');
}

static void print_json(const struct options *options, const struct symbolic *symbolic,
                       const struct results *results)
{
    uint64_t n_allocations = results->stats.n_temporaries + results->stats.n_panels;

    printf("{\"matrix\": ");
    print_json_string(results->name);
    printf(", \"n\": %d, \"nnz\": %ld, \"nnz_factor\": %" PRIu64 ", \"nnz_stored\": %" PRIu64,
           results->n, results->n_entries, symbolic->n_factor, symbolic->n_stored);
    printf(", \"supernodes\": %d, \"front_bytes\": %" PRIu64 ", \"peak_live_bytes\": %" PRIu64,
           symbolic->n_supernodes, symbolic->front_bytes, results->stats.peak_live_bytes);
    printf(", \"window\": %g, \"repeat\": %d, \"workers\": %u", options->window,
           options->n_repeats, starpu_cpu_worker_get_count());
    printf(", \"tasks\": %" PRIu64 ", \"temporaries\": %" PRIu64 ", \"panels\": %" PRIu64
           ", \"allocations_total\": %" PRIu64,
           results->stats.n_tasks, results->stats.n_temporaries, results->stats.n_panels,
           n_allocations * (uint64_t)options->n_repeats);
    printf(", \"analysis_seconds\": %.6f, \"factor_seconds_first\": %.6f, "
           "\"factor_seconds\": %.6f, \"solve_seconds\": %.6f",
           results->analysis_seconds, results->first.seconds, results->median.seconds,
           results->solve_seconds);
    printf(", \"factor_hash\": \"%016" PRIx64 "\", \"factors_different\": %d", results->hash,
           results->n_different);
    printf(", \"minor_faults_first\": %.0f, \"minor_faults\": %.0f, \"max_rss_kib\": %ld",
           results->first.minor_faults, results->median.minor_faults, usage().ru_maxrss);
    if (isfinite(results->backward_error))
        printf(", \"backward_error\": %.6e}\n", results->backward_error);
    else
        printf(", \"backward_error\": null}\n");
}

/* StarPU runs from here on; what the solver did is printed even if it is not accurate. */
static enum status run_tasks(const struct options *options, const struct matrix *matrix,
                             const struct symbolic *symbolic, struct results *results,
                             struct error *error)
{
    struct factor factor;
    enum status status;

    if (starpu_cpu_worker_get_count() == 0)
        return error_set(error, STATUS_SYSTEM,
                         "StarPU has no CPU worker; raise STARPU_NCPU to at least 1");
    status = factorise(options, symbolic, &factor, results, error);
    if (status != STATUS_OK)
        return status;
    results->backward_error = NAN;
    status = solve(options, matrix, &factor, results, error);
    factor_fini(&factor);
    if (options->json)
        print_json(options, symbolic, results);
    else
        print_text(options, symbolic, results);
    if (fflush(stdout) != 0 && status == STATUS_OK)
        return error_set(error, STATUS_SYSTEM,
                         "the results could not be written to the output");
    return status;
}

static enum status run(const struct options *options, struct error *error)
{
    struct results results = {0};
    struct symbolic symbolic;
    struct matrix matrix;
    enum status status;
    double began;

    status = load(options, &matrix, &results, error);
    if (status != STATUS_OK)
        return status;
    began = now();
    status = symbolic_init(&matrix, &symbolic, error);
    results.analysis_seconds = now() - began;
    if (status != STATUS_OK)
        goto fini_matrix;

    if (starpu_init(NULL) == 0) {
        status = run_tasks(options, &matrix, &symbolic, &results, error);
        starpu_shutdown();
    } else {
        status =
            error_set(error, STATUS_SYSTEM,
                      "StarPU does not start; check STARPU_NCPU and other STARPU_ settings");
    }
    symbolic_fini(&symbolic);
fini_matrix:
    matrix_fini(&matrix);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error error = {""};
    enum status status = options_parse(argc, argv, &options, &error);

    if (status == STATUS_OK && options.help) {
        fputs(options_help, stdout);
        return fflush(stdout) == 0 ? STATUS_OK : STATUS_SYSTEM;
    }
    if (status == STATUS_OK)
        status = run(&options, &error);
    if (status != STATUS_OK)
        fprintf(stderr, "cholesky: %s\n", error.text);
    return status;
}
