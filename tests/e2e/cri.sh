# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# containerd with its Kubernetes interface, for scenarios: a private one in the host's namespace, whose
# runtime `nej` has the hooks by tools/oci/base-spec. On top of containers.sh.

cri() { /usr/bin/python3 "$E2E_SHARED/bin/cri.py" "$E2E/sock" "$@"; }

# An image of busybox alone, as docker save writes one.
cri_image() {
	bundle -- true
	tar -C "$BUNDLE/rootfs" -cf "$E2E/layer.tar" .
	local digest
	digest=$(sha256sum <"$E2E/layer.tar" | cut -d ' ' -f 1)
	printf '{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/bin"],"Cmd":["sleep","600"]},
		"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$digest" >"$E2E/config.json"
	printf '[{"Config":"config.json","RepoTags":["docker.io/nej/box:latest"],"Layers":["layer.tar"]}]' >"$E2E/manifest.json"
	tar -C "$E2E" -cf "$E2E/image.tar" manifest.json config.json layer.tar
}

cri_config() {
	local tools
	tools=$(dirname "${BASH_SOURCE[0]}")/../../tools
	ctr oci spec | NEJ=$NEJ "$tools/oci/base-spec" --require --policies "$E2E" >"$E2E/base-spec.json"
	mkdir -p "$E2E/cni"
	cat >"$E2E/cni/10-pods.conflist" <<-CONFIG
		{"cniVersion": "0.4.0", "name": "nej-$ID", "plugins": [{"type": "ptp", "ipMasq": false,
			"ipam": {"type": "host-local", "dataDir": "$E2E/ipam", "ranges": [[{"subnet": "10.88.0.0/24"}]],
			"routes": [{"dst": "0.0.0.0/0"}]}}]}
	CONFIG
	cat >"$E2E/config.toml" <<-CONFIG
		version = 2
		root = "$E2E/root"
		state = "$E2E/state"
		[grpc]
		  address = "$E2E/sock"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "docker.io/nej/box:latest"
		  restrict_oom_score_adj = true
		  stream_server_port = "0"
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir = "/usr/lib/cni"
		    conf_dir = "$E2E/cni"
		  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		    runtime_type = "io.containerd.runc.v2"
		  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nej]
		    runtime_type = "io.containerd.runc.v2"
		    base_runtime_spec = "$E2E/base-spec.json"
		    pod_annotations = ["nej.*"]
	CONFIG
}

cri_begin() {
	cri_image && cri_config
	on_host unshare -m bash -c "mount --bind '$E2E/resolv.conf' /etc/resolv.conf
		exec containerd -c '$E2E/config.toml' --log-level error" >"$E2E/containerd.log" 2>&1 </dev/null &
	wait_for "$E2E/sock" || fail "$(cat "$E2E/containerd.log")"
	eventually ctr --address "$E2E/sock" -n k8s.io images import "$E2E/image.tar"
}

cri_end() {
	pkill -f "address $E2E/sock"
	pkill -f "containerd -c $E2E"
	find "/sys/fs/cgroup/unified/nej-$ID" -depth -type d -exec rmdir {} + 2>/dev/null
}
