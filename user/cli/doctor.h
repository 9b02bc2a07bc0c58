/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej doctor`: what this machine has of what nej uses. */
#ifndef NEJ_CLI_DOCTOR_H
#define NEJ_CLI_DOCTOR_H

/* 0, or 3 when something required is missing. */
int cli_doctor(int argc, char **argv);

#endif
