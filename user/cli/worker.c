/* SPDX-License-Identifier: GPL-2.0-only */
/* The worker's way in; all else is sandbox/runtime.c's. */
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../sandbox/handoff.h"
#include "../sandbox/runtime.h"

int cli_worker(int argc, char **argv)
{
	(void)argc;
	if (geteuid() != 0 || fcntl(HANDOFF_FD_SETTINGS, F_GET_SEALS) < 0) {
		fprintf(stderr, "%s is started by `nej run` alone\n", argv[0]);
		return 2;
	}
	return runtime_main();
}
