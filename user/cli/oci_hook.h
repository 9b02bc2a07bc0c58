/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej oci-hook`: containers, from the hooks of their runtime. */
#ifndef NEJ_CLI_OCI_HOOK_H
#define NEJ_CLI_OCI_HOOK_H

int cli_oci_hook(int argc, char **argv);

#endif
