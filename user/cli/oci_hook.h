/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NEJ_CLI_OCI_HOOK_H
#define NEJ_CLI_OCI_HOOK_H

int cli_oci_hook(int argc, char **argv);

#endif
