/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool replay`. */
#ifndef SP_TOOLS_REPLAY_H
#define SP_TOOLS_REPLAY_H

/* argv[0] is "replay". */
int sp_replay_main(int argc, char **argv);

#endif /* SP_TOOLS_REPLAY_H */
