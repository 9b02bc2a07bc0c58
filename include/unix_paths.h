/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unix-domain sockets behind which a service of the host acts for its caller: what a sandbox
 * without a mount namespace of its own must not connect to. Compared with the last components of
 * the path, so that a relative path does not help; a symbolic link does, which is why masking the
 * paths in a mount namespace stays the first choice.
 */
#ifndef NEJ_UNIX_PATHS_H
#define NEJ_UNIX_PATHS_H

/* X(last components, or `@` and the beginning of an abstract name; what answers there; is it tried
 * by every program, so that a record of each refusal would be noise?) */
#define NEJ_UNIX_PATHS(X)                                                                          \
	X("docker.sock", "Docker", false)                                                          \
	X("podman.sock", "Podman", false)                                                          \
	X("containerd.sock", "containerd", false)                                                  \
	X("containerd.sock.ttrpc", "containerd", false)                                            \
	X("crio.sock", "CRI-O", false)                                                             \
	X("buildkitd.sock", "BuildKit", false)                                                     \
	X("lxd/unix.socket", "LXD", false)                                                         \
	X("system_bus_socket", "D-Bus system bus", false)                                          \
	X("systemd/private", "systemd", false)                                                     \
	X("nscd/socket", "nscd", true)                                                             \
	X("io.systemd.Resolve", "systemd-resolved", false)                                         \
	X("io.systemd.Resolve.Monitor", "systemd-resolved", false)                                 \
	X("avahi-daemon/socket", "Avahi", false)                                                   \
	X("snapd.socket", "snapd", false)                                                          \
	X("libvirt-sock", "libvirt", false)                                                        \
	X("@/containerd-shim/", "containerd shim", false)

#endif
