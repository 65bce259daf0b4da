/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening a trace that a command is about, and saying what is wrong with it. */
#include "config.h"

#include "src/tools/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum sp_exit sp_trace_file_open(const char *command, const char *path,
                                struct starpool_trace **reader_out)
{
    enum starpool_status status;

    errno = 0;
    status = starpool_trace_open(path, reader_out);
    if (status == STARPOOL_OK)
        return SP_EXIT_DONE;
    if (errno != 0)
        sp_tools_say(command, "%s: %s", path, strerror(errno));
    else if (status == STARPOOL_EIO)
        sp_tools_say(command, "%s: it is no file, but a directory, a pipe or a device", path);
    else
        sp_tools_say(command, "%s: %s", path, starpool_status_text(status));
    return SP_EXIT_USAGE;
}

enum sp_exit sp_trace_file_finish(const char *command, const char *path,
                                  const struct starpool_trace *reader,
                                  enum starpool_status status)
{
    uint64_t offset;
    const char *reason = starpool_trace_error(reader, &offset);

    if (status == STARPOOL_OK)
        return SP_EXIT_DONE;
    if (*reason == '\0')
        sp_tools_say(command, "%s: %s", path, starpool_status_text(status));
    else
        sp_tools_say(command, "%s: byte %" PRIu64 ": %s", path, offset, reason);
    return SP_EXIT_USAGE;
}

const char *sp_trace_file_plain(char *text)
{
    char *to = text;

    for (const char *at = text; *at != '\0'; at++) {
        unsigned n_control = sp_tools_control_length(at);

        *to++ = n_control > 0 ? '?' : *at;
        at += n_control > 1;
    }
    *to = '\0';
    return text;
}
