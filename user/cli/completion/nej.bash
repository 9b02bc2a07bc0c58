# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Completion of nej(8) for bash: commands, their options, files, names of running sandboxes.

_nej_options() {
	case $1 in
	run) echo "-p --policy -n --name -u --user --net= --audit --resolver --ca --threads --workspace --write --read --memory --pids --cpus --idle --grace --help" ;;
	attach) echo "--cgroup --pid -u --user --uid-guard -p --policy -n --name --audit --resolver --threads --background --help" ;;
	status) echo "--json --metrics --metrics-listen --canary --help" ;;
	oci-hook) echo "--policies --default --require --accept --help" ;;
	doctor) echo "--json --help" ;;
	reload) echo "-p --policy --help" ;;
	halt | resume | revoke) echo "--all --help" ;;
	grant) echo "--for --note --transport --list --help" ;;
	explain) echo "-p --policy --json --help" ;;
	log) echo "-f --follow --denied --json --help" ;;
	verify) echo "--key --help" ;;
	gateway) echo "--listen --policies --tls-cert --tls-key --audit --resolver -u --user --help" ;;
	import) echo "--from= --help" ;;
	*) echo "--help" ;;
	esac
}

_nej_sandboxes() {
	local dir
	for dir in /sys/fs/bpf/nej/*/; do
		[ -d "$dir" ] && basename "$dir"
	done
}

_nej() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]-} word
	local commands="run attach detach oci-hook check trust explain import log suggest verify status reload halt resume grant revoke watch env gateway doctor demo help"
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$current")
		return
	fi
	if [ "$command" = run ]; then
		# Behind `--`, or the first word that is no option, stands the command's own line.
		for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
			if [ "$word" = -- ]; then
				compopt -o default
				return
			fi
		done
	fi
	case $previous in
	--cgroup | -p | --policy | --audit | --ca | --key | --policies | --default | --workspace | --write | --read | --tls-cert | --tls-key)
		compopt -o default
		return
		;;
	-u | --user)
		mapfile -t COMPREPLY < <(compgen -u -- "$current")
		return
		;;
	--from)
		mapfile -t COMPREPLY < <(compgen -W "$(nej import --from help 2>/dev/null | cut -d ' ' -f 1)" \
			-- "$current")
		return
		;;
	--transport)
		mapfile -t COMPREPLY < <(compgen -W "direct kernel" -- "$current")
		return
		;;
	--net)
		mapfile -t COMPREPLY < <(compgen -W "none host" -- "$current")
		return
		;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_nej_options "$command")" -- "$current")
		return
	fi
	case $command in
	status | env | detach | reload | halt | resume | grant | revoke | watch)
		mapfile -t COMPREPLY < <(compgen -W "$(_nej_sandboxes)" -- "$current")
		;;
	oci-hook) mapfile -t COMPREPLY < <(compgen -W "createRuntime poststop" -- "$current") ;;
	run) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
	*) compopt -o default ;;
	esac
}

complete -F _nej nej
