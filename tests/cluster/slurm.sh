#!/bin/bash
# Starts Slurm over all nodes, on the login host of vcluster.sh, and returns when they are ready.   slurm.sh NODES [MORE LINES OF slurm.conf…]
# It prints the path of slurm.conf, for $SLURM_CONF. Needs root, Debian's slurm-wlm and munge.
set -euo pipefail
nodes=$1
shift
for command in slurmctld slurmd srun munged; do
    command -v "$command" >/dev/null || { echo "no Slurm: $command is missing (packages slurm-wlm and munge)" >&2; exit 77; }
done
cgroups=/sys/fs/cgroup/freezer/${VC_STATE##*/}
if [[ $* == *ProctrackType=proctrack/cgroup* ]]; then
    mkdir "$cgroups" 2>/dev/null || { echo "no cgroups of version 1 with a freezer that can be changed: proctrack/cgroup is not tested" >&2; exit 77; }
    # A tree for each host: hosts have numbers of their own for jobs' processes, and other clusters may run on this machine.
    for k in $(seq "$nodes"); do vssh "node$k" "mkdir '$cgroups/node$k' && mount --bind '$cgroups/node$k' /sys/fs/cgroup/freezer"; done
fi
[ -e /etc/munge/munge.key ] || { echo "no Slurm: /etc/munge/munge.key is missing (package munge makes it)" >&2; exit 77; }

export SLURM_CONF=$VC_STATE/slurm.conf
cat >"$SLURM_CONF" <<CONF
ClusterName=v
SlurmctldHost=login
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=/tmp/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/tmp/slurmctld.log
SlurmdLogFile=/tmp/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
KillWait=5
SchedulerParameters=batch_sched_delay=0,sched_interval=2
ReturnToService=2
NodeName=node[1-$nodes] CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
# A line of the caller's replaces one of these.
for line in "$@"; do sed -i "/^${line%%=*}=/d" "$SLURM_CONF"; done
printf '%s\n' "$@" >>"$SLURM_CONF"
printf 'BasePath=/run/jobs\nAutoBasePath=true\n' >"$VC_STATE/job_container.conf"
printf 'CgroupPlugin=cgroup/v1\n' >"$VC_STATE/cgroup.conf"

# job_container/tmpfs binds a job's mount namespace to a file, which Linux permits for a namespace with a larger number than the daemon's only.
# Since 6.18 numbers grow within a processor, not over all: the daemon gets one that is smaller than what any processor gives now.
cat >"$VC_STATE/slurmd.sh" <<'SLURMD'
processors=$(cd /sys/devices/system/cpu && for cpu in cpu[0-9]*; do taskset -c "${cpu#cpu}" true 2>/dev/null && echo "${cpu#cpu}"; done)
export processors node=$1
touch /run/held
for processor in $processors; do
    taskset -c "$processor" unshare --mount taskset -c "$(echo $processors | tr ' ' ,)" bash -c '
        for other in $processors; do
            taskset -c "$other" unshare --mount=/run/held true && umount /run/held || exit 1
        done
        exec slurmd -N "$node"' && exit
done
echo "no mount namespace of this host can hold those of jobs" >/tmp/slurmd.log
SLURMD

munge='mkdir -p /run/munge /tmp/munge && chmod 755 /run/munge && munged --force --key-file=/etc/munge/munge.key --socket=/run/munge/munge.socket.2 \
    --pid-file=/run/munge/munged.pid --log-file=/tmp/munge/log --seed-file=/tmp/munge/seed'
{
    eval "$munge"
    mkdir -p /tmp/slurmctld
    slurmctld
    for k in $(seq "$nodes"); do vssh "node$k" "$munge; export SLURM_CONF=$SLURM_CONF; mkdir -p /run/slurmd; bash $VC_STATE/slurmd.sh node$k"; done
} >/dev/null 2>&1 </dev/null # the daemons keep what they are given
for _ in $(seq 600); do
    if [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ]; then
        echo "$SLURM_CONF"
        exit 0
    fi
    sleep 0.1
done
{ tail -5 /tmp/slurmctld.log; vssh node1 tail -5 /tmp/slurmd.log; }
exit 1
