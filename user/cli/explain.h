/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej explain -p POLICY REQUEST...`: what the policy decides, and by which rule. */
#ifndef NEJ_CLI_EXPLAIN_H
#define NEJ_CLI_EXPLAIN_H

/* Exit status: 0 all allowed, 1 some denied, 2 wrong usage or a policy with errors. */
int cli_explain(int argc, char **argv);

#endif
