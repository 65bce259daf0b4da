/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens what a report or a trace is written to. The name may stand in the environment of a
 * program with more rights than whoever planted a link there, so links are never followed. */
#include "config.h"

#include "src/util/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/util.h"

unsigned sp_outfile_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < SP_ARRAY_SIZE(names); i++) {
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

/* The name that a pattern stands for. False if it gets too long, or is empty. */
static bool expand(const char *pattern, const char *folder, char *name, size_t name_size)
{
    size_t length = 0;

    if (*pattern != '/' && *folder != '\0') {
        int n = snprintf(name, name_size, "%s/", folder);

        if (n < 0 || (size_t)n >= name_size)
            return false;
        length = (size_t)n;
    }
    if (*pattern == '\0')
        return false;
    for (; *pattern != '\0'; pattern++) {
        int n;

        if (pattern[0] == '%' && pattern[1] == 'p')
            n = snprintf(name + length, name_size - length, "%ld", (long)getpid());
        else if (pattern[0] == '%' && pattern[1] == 'r')
            n = snprintf(name + length, name_size - length, "%u", sp_outfile_rank());
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

/* Empty the file that is open. What is wrong with it, or NULL. */
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

int sp_outfile_open(const char *pattern, const char *folder, const char *what)
{
    const char *problem;
    char name[PATH_MAX];
    int fd;

    if (!expand(pattern, folder, name, sizeof(name))) {
        sp_log(SP_LOG_ERROR, "no %s: its name is empty or too long: '%.80s'", what, pattern);
        return -1;
    }
    /* O_NONBLOCK: a pipe that nobody reads must not hold the program. */
    fd = open(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
              S_IRUSR | S_IWUSR);
    if (fd < 0)
        problem = errno == ELOOP ? "it is a symbolic link" : strerror(errno);
    else
        problem = claim(fd);
    if (problem == NULL)
        return fd;
    sp_log(SP_LOG_ERROR, "no %s: %s: %s", what, name, problem);
    if (fd >= 0)
        close(fd);
    return -1;
}
