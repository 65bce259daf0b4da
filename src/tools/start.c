/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts a program under the plugin. */
#include "config.h"

#include "src/tools/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tools/preload.h"

void sp_start_warn(const char *command, const char *name, const struct sp_program *program)
{
    if (program->gains_rights)
        sp_tools_say(command,
                     "%s gets other rights than yours (set-user-id or capabilities): the "
                     "dynamic loader ignores LD_PRELOAD, and starpool serves nothing",
                     name);
    else if (program->kind == SP_ELF_FOREIGN)
        sp_tools_say(command, "%s is for another machine or word size: starpool serves nothing",
                     name);
    else if (program->contains_starpu)
        sp_tools_say(command,
                     "%s has StarPU linked into it statically: starpool serves nothing", name);
    else if (program->kind == SP_ELF_STATIC)
        sp_tools_say(
            command,
            "%s is linked statically: starpool serves at most the programs that it runs", name);
    else if (program->kind == SP_ELF_DAMAGED)
        sp_tools_say(command, "%s is damaged: its program headers cannot be read", name);
}

/* Say why there is no plugin. */
static void tell_missing(const char *command)
{
    if (sp_preload_is_built())
        sp_tools_say(command, "the StarPU plugin is not installed in %s", SP_PKGLIBDIR);
    else
        sp_tools_say(command, "there is no plugin: this starpool was built without StarPU");
}

/* Find the plugin for a flavour; SP_EXIT_NOT_SO if there are only others. */
static enum sp_exit find_plugin(const char *command, const char *name, char *flavour,
                                struct sp_preload *plugin)
{
    char *suffix = strstr(flavour, "-contrib");

    if (sp_preload_find(*flavour != '\0' ? flavour : NULL, plugin))
        return SP_EXIT_DONE;
    if (suffix != NULL) {
        /* The program itself may use CUDA beside a StarPU that does not. */
        *suffix = '\0';
        if (sp_preload_find(flavour, plugin))
            return SP_EXIT_DONE;
    }
    if (*flavour != '\0' && sp_preload_find(NULL, plugin)) {
        sp_tools_say(command,
                     "%s loads %s, but the plugin here is for %s: starpool serves nothing",
                     name, flavour, plugin->flavour);
        return SP_EXIT_NOT_SO;
    }
    tell_missing(command);
    return SP_EXIT_UNAVAILABLE;
}

enum sp_exit sp_start_preload(const char *command, const char *name,
                              const struct sp_program_loads *loads)
{
    char flavour[sizeof(loads->flavour)];
    struct sp_preload plugin;
    enum sp_exit exit_status;
    char *value;

    memcpy(flavour, loads->flavour, sizeof(flavour));
    exit_status = find_plugin(command, name, flavour, &plugin);
    if (exit_status != SP_EXIT_DONE)
        return exit_status == SP_EXIT_NOT_SO ? SP_EXIT_DONE : exit_status;
    value = sp_preload_value(&plugin, loads->asan);
    if (value == NULL) {
        sp_tools_say(command, "cannot be preloaded, for a space or a colon in the path: %s%s%s",
                     loads->asan, *loads->asan != '\0' ? " or " : "", plugin.path);
        return SP_EXIT_UNAVAILABLE;
    }
    setenv("LD_PRELOAD", value, 1);
    free(value);
    return SP_EXIT_DONE;
}

enum sp_exit sp_start(const char *command, const struct sp_program *program, char **argv)
{
    int error;

    /* A script without a first line of its own goes to the shell, as execvp() has it; a damaged
     * program must not. */
    if (program->kind == SP_ELF_NONE)
        execvp(program->path, argv);
    else
        execv(program->path, argv);
    error = errno;
    sp_tools_say(command, "%s: cannot be executed: %s", argv[0],
                 error == ENOENT ? "its interpreter is missing" : strerror(error));
    return error == ENOENT ? SP_EXIT_NO_PROGRAM : SP_EXIT_NO_EXEC;
}
