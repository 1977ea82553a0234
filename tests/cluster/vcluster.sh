#!/bin/bash
# A cluster of hosts on one machine, made of namespaces.
#
#   vcluster.sh NODES COMMAND…            runs COMMAND on the host "login", with its exit status
#   vcluster.sh --enter STATE COMMAND…    runs COMMAND on the login host of a cluster that goes on; STATE is its $VC_STATE
#
# Every host (login, node1 … nodeNODES) has its own network (eth0, 10.77.0.K, on a bridge of login), host name, process ids, IPC,
# clocks of the time since boot (K × 1000 s ahead), /dev/shm, /tmp and /run. All else is shared, as a home directory would be:
# also the directories in $VC_SHARED (one a line), wherever they lie. On the hosts:
#   vssh nodeK COMMAND…   like ssh: a fresh environment, through a shell, with COMMAND's exit status
#   vkill nodeK           the node loses power: every process of it is killed
#
# Needs bash, iproute2 and util-linux 2.38, and root or permission to make user namespaces. Where it cannot run its exit status is 77,
# after one line that says why. All lives in namespaces and in the directory $VC_STATE (below $VC_PARENT or /var/tmp), which end with
# COMMAND; the machine's own network is not touched.
set -euo pipefail

shared=()
[ -z "${VC_SHARED-}" ] || mapfile -t shared <<<"$VC_SHARED"
readonly PLAIN_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

cannot() {
    echo "no virtual cluster: $1" >&2
    exit 77
}

# In new namespaces: what a host has for itself.
become() {
    hostname "$1"
    mount --make-rprivate /
    mount -t proc proc /proc
    if mount -t sysfs sysfs /sys 2>/dev/null; then mount --rbind "$VC_STATE/cgroup" /sys/fs/cgroup || true; fi
    local directory
    for directory in /dev/shm /tmp /run; do mount -t tmpfs -o mode=1777 tmpfs "$directory"; done
    local k=0
    for directory in "${shared[@]}"; do
        mkdir -p "$directory"
        mount --bind "$VC_STATE/shared/$((k++))" "$directory"
    done
    mount --bind "$VC_STATE/hosts" /etc/hosts
    ip link set lo up
}

# This shell's number where /proc is still that of the host it came from.
own_number() {
    local number rest
    read -r number rest </proc/self/stat
    echo "$number" >"$VC_STATE/$1.pid.new"
    mv "$VC_STATE/$1.pid.new" "$VC_STATE/$1.pid"
}

node() { # process 1 of a node: waits for its cable, then for ever; bash reaps what others leave
    own_number "$1"
    become "$1"
    until ip link show eth0 &>/dev/null; do sleep 0.01; done
    ip address add "10.77.0.${1#node}/24" dev eth0
    ip link set eth0 up
    : >"$VC_STATE/$1.up"
    while :; do sleep 1000 & wait $!; done
}

login() { # process 1 of the whole cluster
    local nodes=$1 k pid starter directory status=0
    shift
    own_number login
    mount --rbind /sys/fs/cgroup "$VC_STATE/cgroup" 2>/dev/null || true
    k=0
    for directory in "${shared[@]}"; do
        mkdir "$VC_STATE/shared/$k"
        mount --bind "$directory" "$VC_STATE/shared/$((k++))"
    done
    become login
    ip link add br0 type bridge
    ip address add 10.77.0.254/24 dev br0
    ip link set br0 up
    for k in $(seq "$nodes"); do
        # A clock of its own, as after booting at another time.
        unshare --net --uts --mount --ipc --pid --time --monotonic $((k * 1000)) --boottime $((k * 1000)) --fork --kill-child \
            "$VC_SELF" --node "node$k" </dev/null &
        starter=$!
        until [ -e "$VC_STATE/node$k.pid" ]; do kill -0 "$starter"; sleep 0.01; done
        pid=$(cat "$VC_STATE/node$k.pid")
        ip link add "veth$k" type veth peer name eth0 netns "$pid"
        ip link set "veth$k" master br0 up
    done
    for k in $(seq "$nodes"); do until [ -e "$VC_STATE/node$k.up" ]; do sleep 0.01; done; done
    : >"$VC_STATE/up"
    export PATH=$VC_STATE/bin:$PATH
    "$@" || status=$?
    exit $status
}

# Everything that a cluster asks of the system, once.
probe() {
    local command said
    for command in ip:iproute2 unshare:util-linux nsenter:util-linux mount:mount hostname:hostname; do
        command -v "${command%:*}" >/dev/null || cannot "${command%:*} is missing (package ${command#*:})"
    done
    nsenter --help | grep -q -- --time || cannot "nsenter knows no time namespaces (util-linux 2.38 does)"
    said=$(unshare --net --uts --mount --ipc --pid --time --monotonic 1 --boottime 1 --fork bash -c '
        mount --make-rprivate / && hostname probe && mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm &&
        ip link add br0 type bridge && ip link add veth1 type veth peer name eth0' 2>&1) || cannot "${said//$'\n'/; }"
}

# What batch systems made on the hosts. Empty by now, but for processes that are still ending.
remove_cgroups() {
    local tree=/sys/fs/cgroup/freezer/${VC_STATE##*/} tries
    for tries in $(seq 100); do
        [ -d "$tree" ] || return 0
        find "$tree" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.05
    done
}

start() {
    local nodes=$1 k status=0
    shift
    probe
    VC_STATE=$(mktemp -d "${VC_PARENT:-/var/tmp}/vcluster.XXXXXX")
    export VC_STATE VC_SELF
    trap 'rm -rf --one-file-system "$VC_STATE"; remove_cgroups' EXIT
    # Ended from outside, it takes its cluster along.
    trap 'kill -KILL "$cluster" 2>/dev/null; exit 143' TERM INT HUP
    {
        echo "127.0.0.1 localhost"
        echo "10.77.0.254 login"
        for k in $(seq "$nodes"); do echo "10.77.0.$k node$k"; done
    } >"$VC_STATE/hosts"
    mkdir "$VC_STATE/bin" "$VC_STATE/cgroup" "$VC_STATE/shared"
    cat >"$VC_STATE/bin/vssh" <<VSSH
#!/bin/bash
# like ssh, for the hosts of vcluster.sh
VC_STATE=$VC_STATE
PLAIN_PATH=$PLAIN_PATH
VSSH
    cat >>"$VC_STATE/bin/vssh" <<'VSSH'
while [[ ${1:-} == -* ]]; do shift; done
host=${1:?host}
shift
there=()
case $host in
login | localhost | 127.0.0.1) ;;
*) there=(nsenter --target "$(cat "$VC_STATE/$host.pid")" --net --uts --mount --ipc --pid --time) ;;
esac
exec "${there[@]}" env -i HOME="$HOME" USER="${USER:-root}" LOGNAME="${USER:-root}" SHELL=/bin/bash PATH="$VC_STATE/bin:$PLAIN_PATH" \
    VC_STATE="$VC_STATE" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 /bin/bash -c "cd; $*"
VSSH
    printf '%s\n' '#!/bin/bash' "kill -KILL \"\$(cat '$VC_STATE'/\${1:?node}.pid)\"" >"$VC_STATE/bin/vkill"
    chmod +x "$VC_STATE"/bin/*
    unshare --net --uts --mount --ipc --pid --fork --kill-child "$VC_SELF" --login "$nodes" "$@" <&0 &
    cluster=$!
    wait "$cluster" || status=$?
    exit $status
}

VC_SELF=$(realpath "$0")
case ${1:?NODES COMMAND…} in
--node) node "$2" ;;
--login) shift; login "$@" ;;
--enter)
    export VC_STATE=$2
    shift 2
    user=()
    [ "$(id -u)" = 0 ] || user=(--user --preserve-credentials)
    exec nsenter "${user[@]}" --target "$(cat "$VC_STATE/login.pid")" --net --uts --mount --ipc --pid \
        env PATH="$VC_STATE/bin:$PATH" "$@" ;;
*)
    if [ "$(id -u)" != 0 ]; then
        said=$(unshare --user --map-root-user true 2>&1) || cannot "this user may not make user namespaces (${said//$'\n'/; })"
        exec unshare --user --map-root-user "$VC_SELF" "$@"
    fi
    start "$@" ;;
esac
