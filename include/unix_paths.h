/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unix-domain sockets behind which a service of the host acts for its caller: what a sandbox
 * without a mount namespace of its own must not connect to. Compared with the last components of
 * the path, so that a relative path does not help; a symbolic link does, which is why masking the
 * paths in a mount namespace stays the first choice.
 */
#ifndef NEJ_UNIX_PATHS_H
#define NEJ_UNIX_PATHS_H

/* X(last components, or `@` and the beginning of an abstract name; what answers there) */
#define NEJ_UNIX_PATHS(X)                                                                          \
	X("docker.sock", "Docker")                                                                 \
	X("podman.sock", "Podman")                                                                 \
	X("containerd.sock", "containerd")                                                         \
	X("containerd.sock.ttrpc", "containerd")                                                   \
	X("crio.sock", "CRI-O")                                                                    \
	X("buildkitd.sock", "BuildKit")                                                            \
	X("lxd/unix.socket", "LXD")                                                                \
	X("system_bus_socket", "D-Bus system bus")                                                 \
	X("systemd/private", "systemd")                                                            \
	X("nscd/socket", "nscd")                                                                   \
	X("io.systemd.Resolve", "systemd-resolved")                                                \
	X("io.systemd.Resolve.Monitor", "systemd-resolved")                                        \
	X("avahi-daemon/socket", "Avahi")                                                          \
	X("snapd.socket", "snapd")                                                                 \
	X("libvirt-sock", "libvirt")                                                               \
	X("@/containerd-shim/", "containerd shim")

#endif
