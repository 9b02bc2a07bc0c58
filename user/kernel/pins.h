/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The folders under NEJ_PIN_ROOT: NAME/MAP and NAME/links/PROGRAM. A folder is filled under another
 * name (`+NAME+PID`) and renamed, so that a half-pinned sandbox is never seen under its name. Only
 * files: what the pins are, object.c knows.
 */
#ifndef NEJ_KERNEL_PINS_H
#define NEJ_KERNEL_PINS_H

#include <stdbool.h>
#include <stddef.h>

#define PINS_NAME_BYTES 64
#define PINS_PATH_BYTES 256

/* Letters, digits, `-` and `_`, at most 63 bytes: bpffs has no dots in names. */
bool pins_is_name(const char *name);

/* Mounts bpffs where it is missing and makes NEJ_PIN_ROOT, open to root alone. */
int pins_prepare(void);

/* Makes the folder to fill; ret_dir is its path. */
int pins_begin(const char *name, char ret_dir[static PINS_PATH_BYTES]);
/* Puts it in place of what an earlier supervisor left under the name. */
int pins_commit(const char *name, const char *dir);

/* Path of a pinned map. */
void pins_map_path(const char *name, const char *map, char ret[static PINS_PATH_BYTES]);

/* Removes a folder of pins, links first. 0 also when there is none. */
int pins_remove(const char *dir);
int pins_remove_name(const char *name);

/* Does a link in this sandbox's folder still hang on a cgroup? */
bool pins_are_live(const char *name);

/* Removes folders whose cgroup is gone and half-filled ones of dead processes. Returns how many. */
int pins_collect(void);

#endif
