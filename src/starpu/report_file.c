/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens what a report is written to. The name may stand in the environment of a program with
 * more rights than whoever planted a link there, so links are never followed. */
#include "config.h"

#include "src/starpu/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/diag.h"
#include "src/util/util.h"

static struct {
    char folder[PATH_MAX]; /* what relative names are below; "": the working directory */
} file;

void sp_report_keep_folder(void)
{
    if (getcwd(file.folder, sizeof(file.folder)) == NULL)
        file.folder[0] = '\0';
}

unsigned sp_report_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    size_t i;

    for (i = 0; i < SP_ARRAY_SIZE(names); i++) {
        const char *text = secure_getenv(names[i]);
        unsigned long rank;
        char *end;

        if (text == NULL || *text < '0' || *text > '9')
            continue;
        rank = strtoul(text, &end, 10);
        if (*end == '\0' && rank <= UINT_MAX)
            return (unsigned)rank;
    }
    return 0;
}

FILE *sp_report_open_stderr(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    FILE *out;

    if (fd < 0)
        return NULL;
    out = fdopen(fd, "w");
    if (out == NULL)
        close(fd);
    return out;
}

/* The name that a pattern stands for, absolute if the folder is known. False if it gets too
 * long. */
static bool expand(const char *pattern, char *name, size_t name_size)
{
    size_t length = 0;

    if (*pattern != '/' && file.folder[0] != '\0') {
        int n = snprintf(name, name_size, "%s/", file.folder);

        if (n < 0 || (size_t)n >= name_size)
            return false;
        length = (size_t)n;
    }
    for (; *pattern != '\0'; pattern++) {
        int n;

        if (pattern[0] == '%' && pattern[1] == 'p')
            n = snprintf(name + length, name_size - length, "%ld", (long)getpid());
        else if (pattern[0] == '%' && pattern[1] == 'r')
            n = snprintf(name + length, name_size - length, "%u", sp_report_rank());
        else
            n = snprintf(name + length, name_size - length, "%c", *pattern);
        if (n < 0 || (size_t)n >= name_size - length)
            return false;
        length += (size_t)n;
        if (pattern[0] == '%' && pattern[1] != '\0' && strchr("pr%", pattern[1]) != NULL)
            pattern++;
    }
    name[length] = '\0';
    return true;
}

/* What is wrong with the file that is open, or NULL. */
static const char *claim(int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is not a regular file";
    if (status.st_nlink != 1)
        return "the file has a second name";
    if (status.st_uid != geteuid())
        return "the file belongs to somebody else";
    if (fchmod(fd, S_IRUSR | S_IWUSR) != 0 || ftruncate(fd, 0) != 0)
        return strerror(errno);
    return NULL;
}

FILE *sp_report_open_file(const char *pattern)
{
    const char *problem;
    char name[PATH_MAX];
    FILE *out = NULL;
    int fd;

    if (!expand(pattern, name, sizeof(name))) {
        sp_log(SP_LOG_ERROR, "no report: its name is too long: %.80s...", pattern);
        return NULL;
    }
    /* O_NONBLOCK: a pipe that nobody reads must not hold the program at its end. */
    fd = open(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
              S_IRUSR | S_IWUSR);
    if (fd < 0) {
        problem = errno == ELOOP ? "it is a symbolic link" : strerror(errno);
    } else {
        problem = claim(fd);
        if (problem == NULL) {
            out = fdopen(fd, "w");
            problem = strerror(errno);
        }
        if (out == NULL)
            close(fd);
    }
    if (out == NULL)
        sp_log(SP_LOG_ERROR, "no report: %s: %s", name, problem);
    return out;
}
