/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a report is written to: a file below the working directory of the program's start, or
 * stderr. */
#include "config.h"

#include "src/starpu/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "src/util/diag.h"
#include "src/util/outfile.h"

static struct {
    char folder[PATH_MAX]; /* what relative names are below; "": the working directory */
} file;

void sp_report_keep_folder(void)
{
    if (getcwd(file.folder, sizeof(file.folder)) == NULL)
        file.folder[0] = '\0';
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

FILE *sp_report_open_file(const char *pattern)
{
    int fd = sp_outfile_open(pattern, file.folder, "report");
    FILE *out;

    if (fd < 0)
        return NULL;
    out = fdopen(fd, "w");
    if (out != NULL)
        return out;
    sp_log(SP_LOG_ERROR, "no report: %s", strerror(errno));
    close(fd);
    return NULL;
}
