/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line: what it means, and what is wrong with it. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char options_help[] =
    "Usage: cholesky [options] FILE.mtx[.gz]\n"
    "       cholesky [options] --laplacian 2d:N|3d:N\n"
    "\n"
    "Factorise a sparse symmetric positive definite matrix with StarPU, by the multifrontal\n"
    "method, and solve A x = b. FILE is in Matrix Market form, plain or gzip.\n"
    "\n"
    "  -l, --laplacian 2d:N|3d:N  take the Laplacian on a grid with N points a side\n"
    "  -n, --repeat N             factorise N times in this process, each time marked as an\n"
    "                             iteration of StarPU's (default 1)\n"
    "  -w, --window FRACTION      let at most this share of the bytes of all fronts be live\n"
    "                             at once, above 0 and up to 1 (default 0.25)\n"
    "  -s, --seed N               solve for a random right-hand side, made from this seed\n"
    "                             (default: A times a vector of ones)\n"
    "  -r, --refine               do one step of iterative refinement\n"
    "  -a, --accuracy E           fail if the backward error is E or more (default 1e-12)\n"
    "  -j, --json                 print the results as one JSON object\n"
    "  -h, --help                 print this\n"
    "\n"
    "Exit status: 0 done; 1 the matrix is not positive definite or the solution is not\n"
    "accurate; 2 a bad option or a missing or malformed file; 3 no memory, or StarPU does not\n"
    "start.\n";

static const struct option long_options[] = {
    {"laplacian", required_argument, NULL, 'l'},
    {"repeat", required_argument, NULL, 'n'},
    {"window", required_argument, NULL, 'w'},
    {"seed", required_argument, NULL, 's'},
    {"refine", no_argument, NULL, 'r'},
    {"accuracy", required_argument, NULL, 'a'},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* A whole number from 1 to INT_MAX and nothing else. */
static bool parse_count(const char *text, int *count_out)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < 1 || number > INT_MAX)
        return false;
    *count_out = (int)number;
    return true;
}

/* A number above 0 and up to 1; the comparison refuses a NaN too. */
static bool parse_share(const char *text, double *share_out)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end != '\0' || !(number > 0 && number <= 1))
        return false;
    *share_out = number;
    return true;
}

/* strtoull() would take a minus sign and wrap. */
static bool parse_seed(const char *text, struct options *options)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    options->seed = strtoull(text, &end, 10);
    options->has_seed = true;
    return *end == '\0' && errno == 0;
}

static bool parse_laplacian(const char *text, struct options *options)
{
    if (strncmp(text, "2d:", 3) != 0 && strncmp(text, "3d:", 3) != 0)
        return false;
    options->dimensions = text[0] - '0';
    return parse_count(text + 3, &options->side);
}

static enum status refuse(struct error *error, const char *option, const char *wanted)
{
    return error_set(error, STATUS_INPUT, "--%s %s: not %s; see --help", option, optarg,
                     wanted);
}

static enum status parse_option(int letter, struct options *options, struct error *error)
{
    switch (letter) {
    case 'l':
        if (!parse_laplacian(optarg, options))
            return refuse(error, "laplacian", "2d:N or 3d:N");
        break;
    case 'n':
        if (!parse_count(optarg, &options->n_repeats))
            return refuse(error, "repeat", "a whole number of at least 1");
        break;
    case 'w':
        if (!parse_share(optarg, &options->window))
            return refuse(error, "window", "a number above 0 and up to 1");
        break;
    case 's':
        if (!parse_seed(optarg, options))
            return refuse(error, "seed", "a whole number of at least 0");
        break;
    case 'a':
        if (!parse_share(optarg, &options->accuracy))
            return refuse(error, "accuracy", "a number above 0 and up to 1");
        break;
    case 'r':
        options->refine = true;
        break;
    case 'j':
        options->json = true;
        break;
    case 'h':
        options->help = true;
        break;
    default:
        return error_set(error, STATUS_INPUT,
                         "an option is unknown or lacks its value; see --help");
    }
    return STATUS_OK;
}

enum status options_parse(int argc, char **argv, struct options *options_out,
                          struct error *error)
{
    struct options options = {.n_repeats = 1, .window = 0.25, .accuracy = 1e-12};
    enum status status = STATUS_OK;
    int letter;

    optind = 1;
    opterr = 0;
    while (status == STATUS_OK && !options.help &&
           (letter = getopt_long(argc, argv, "l:n:w:s:a:rjh", long_options, NULL)) != -1)
        status = parse_option(letter, &options, error);
    if (status != STATUS_OK)
        return status;
    if (!options.help) {
        if (argc - optind + (options.dimensions != 0) != 1)
            return error_set(error, STATUS_INPUT,
                             "give one FILE or one --laplacian; see --help");
        options.path = argv[optind];
    }
    *options_out = options;
    return STATUS_OK;
}
