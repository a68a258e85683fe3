"""A Slurm cluster whose commands are scripts: they start jobs on this host, and lose, delay, refuse or forget them on demand."""
from lib import *

# A cluster in a directory: jobs/ID holds "NAME|COMMENT|STATE|PID". The file `fault` says what goes wrong.
SBATCH = r"""#!/bin/sh
cd "$CLUSTER" || exit 1
echo "$@" >> calls
fault=$(cat fault 2>/dev/null)
case $fault in *refuse*) echo "sbatch: error: Batch job submission failed: the partition is down" >&2; exit 1;; *hang*) sleep 1000;; esac
case $fault in *twice*) [ -n "$AGAIN" ] || AGAIN=1 "$0" "$@" > /dev/null;; esac
for word; do
    case $word in --job-name=*) name=${word#*=};; --comment=*) comment=${word#*=};; --ntasks=*) tasks=${word#*=};; --cpus-per-task=*) each=${word#*=};; --output=*) output=${word#*=};; --gpus-per-task=*) CUDA_VISIBLE_DEVICES=5,7; export CUDA_VISIBLE_DEVICES;; esac
    script=$word
done
case $fault in *small*)
    [ "$each" -le 4 ] || { echo "sbatch: error: Batch job submission failed: Requested node configuration is not available" >&2; exit 1; }
    case " $* " in *" --mem-per-cpu="*) memory=${*##*--mem-per-cpu=}; memory=${memory%%K*}; [ $((memory * each)) -le 4194304 ] || { echo "sbatch: error: Memory specification can not be satisfied" >&2; exit 1; };; esac;;
esac
id=$(ls jobs | wc -l)
while ! mkdir "lock$id" 2>/dev/null; do id=$((id + 1)); done
id=$((id + 100))
state=RUNNING
limit=
for word; do case $word in --time=*) case $fault in *short*) [ ${word#*=} -le 10 ] || limit=PartitionTimeLimit;; esac;; esac; done
[ -z "$limit" ] || state=PENDING
case $fault in *keep1*) [ $id -gt 100 ] || state=PENDING;; *keep*) state=PENDING;; esac
echo "$name|$comment|$state||$limit" > "jobs/$id"
if [ $state = RUNNING ]; then
    case $fault in *empty*) script=/bin/true;; esac
    cd "$HERE"
    case $fault in *brief*) SLURM_JOB_END_TIME=$(($(date +%s) + 3)); export SLURM_JOB_END_TIME;; esac
    cpus=$((tasks * each))
    case $fault in *small*) [ $cpus -le 4 ] || cpus=4;; esac
    SLURM_JOB_ID=$id SLURM_JOB_NUM_NODES=1 SLURM_CPUS_ON_NODE=$cpus SLURM_MEM_PER_CPU=512 setsid sh -c 'echo "$1|$2|RUNNING|$$" > "$CLUSTER/jobs/$SLURM_JOB_ID"; sh "$0"; echo "$1|$2|COMPLETED|" > "$CLUSTER/jobs/$SLURM_JOB_ID"' "$script" "$name" "$comment" > "$output" 2>&1 < /dev/null &
fi
case $fault in *lose*) echo "sbatch: error: Socket timed out" >&2; exit 1;; esac
echo "$id"
"""
SQUEUE = r"""#!/bin/sh
cd "$CLUSTER" || exit 1
echo squeue >> calls
case $(cat fault 2>/dev/null) in *blind*) echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1;; *forget*) exit 0;; esac
for word; do case $word in --name=*) name=${word#*=};; esac; done
for f in jobs/*; do
    [ -f "$f" ] && IFS='|' read -r n comment state pid limit < "$f" && [ "$n" = "$name" ] && echo "${f#jobs/}|$comment|$state|${limit:-None}"
done
exit 0
"""
SCANCEL = r"""#!/bin/sh
cd "$CLUSTER" || exit 1
echo "scancel $*" >> calls
tree() { for child in $(cat /proc/$1/task/*/children 2>/dev/null); do tree $child; done; kill -KILL $1 2>/dev/null; }
case $(cat fault 2>/dev/null) in *deaf*) echo "scancel: error: no answer" >&2; exit 1;; esac
for f in jobs/*; do
    [ -f "$f" ] || continue
    IFS='|' read -r n comment state pid < "$f"
    for word; do
        if [ "$word" = "--name=$n" ] || [ "$word" = "${f#jobs/}" ]; then
            [ -n "$pid" ] && tree "$pid"
            case $state in PENDING|RUNNING) echo "$n|$comment|CANCELLED|" > "$f";; esac
        fi
    done
done
exit 0
"""
SRUN = r"""#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
SLURM_NODEID=0 exec "$@"
"""


class Cluster:
    def __init__(self, fault="", i=None):
        self.i = i = i or Instance(up=False)
        for d in ("cluster/jobs", "commands"):
            os.makedirs(i.path(d), exist_ok=True)
        for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL), ("srun", SRUN)):
            i.write("commands/" + name, text)
            os.chmod(i.path("commands/" + name), 0o755)
        i.env.update(PATH=i.path("commands") + ":" + i.env["PATH"], CLUSTER=i.path("cluster"), HERE=i.work, SHUNT_BAG_PACE="1")
        self.fault(fault)

    def fault(self, words):
        self.i.write("cluster/fault", words)

    def jobs(self):
        """States."""
        d = self.i.path("cluster/jobs")
        texts = [open(os.path.join(d, f)).read() for f in sorted(os.listdir(d))]
        return [text.split("|")[2] for text in texts if text.count("|") >= 2]  # another may be writing one just now

    def running(self):
        """Ids."""
        d = self.i.path("cluster/jobs")
        return [f for f in os.listdir(d) if "|RUNNING|" in open(os.path.join(d, f)).read()]

    def stop(self):
        pass

    def alive(self):
        return [s for s in self.jobs() if s in ("PENDING", "RUNNING")]

    def calls(self, word):
        try:
            return [l for l in self.i.read("cluster/calls").splitlines() if word in l]
        except OSError:
            return []
