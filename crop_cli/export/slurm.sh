# What squeue knows about a job; nothing if it has left the queue. `scontrol show job` prints the job's name before its
# fields, and a name may look like one of them.
ask() { # ID FORMAT
  squeue --noheader --jobs="$1" --states=all --format="$2" 2>/dev/null | head -n 1 || true
}

state() { # ID
  ask "$1" %T
}

name() { # ID
  ask "$1" %j | sed 's/^[[:space:]]*//; s/[[:space:]]*$//'
}

# A job for which a command failed; the others are seen to nevertheless.
failed=0
trouble() { # ID NAME WHAT
  failed=1
  echo "crop: job $1 ($2): $3" >&2
}

alone() { # ID NAME WHY
  echo "crop: job $1 ($2) is left alone: $3" >&2
}

# Whether a job of the queue may still be placed, and is the one that was meant. A held job is; one that runs is not.
ready() { # ID NAME
  local state name
  state=$(state "$1")
  name=$(name "$1")
  if [[ $state != PENDING ]]; then
    alone "$1" "$2" "it is ${state:-not in the queue}, not PENDING"
    return 1
  elif [[ $name != "$2" ]]; then
    alone "$1" "$2" "it is called $name, not $2"
    return 1
  fi
}

# A held job would not start.
release() { # ID
  case $(squeue --noheader --jobs="$1" --format=%r) in
    *[Hh]eld*) scontrol release "$1" ;;
  esac
}

# A request with a GPU type keeps it: Slurm refuses a mixture of requests with and without types.
fix() { # ID NODES GPUS_PER_NODE NODELIST
  local type
  type=$(scontrol --oneliner show job "$1" | sed -n 's|.* TresPer[A-Za-z]*=[^ ]*gpu:\([^:=, ]*\)[:=][0-9].*|\1|p') &&
    scontrol update JobId="$1" ReqNodeList="$4" NumNodes="$2-$2" Gres="gpu:${type:+$type:}$3"
}

# A job of the queue, as many GPUs on each node.
place() { # ID NAME NODES GPUS_PER_NODE NODELIST
  ready "$1" "$2" || return 0
  { fix "$1" "$3" "$4" "$5" && release "$1"; } || trouble "$1" "$2" "Slurm does not place it"
}

runs() { # ID NAME
  [[ $(state "$1") == RUNNING && $(name "$1") == "$2" ]]
}

# Before a running job is stopped, all that is to start must still wait, and all that is to move be able to.
expect() { # place|move ID NAME
  if [[ $1 == place ]]; then
    ready "$2" "$3" || failed=1
  elif runs "$2" "$3" && ! scontrol show job "$2" | grep -aE '^   Requeue=1 .*BatchFlag=1' >/dev/null; then
    trouble "$2" "$3" "it cannot be requeued"
  fi
}

unless_failed() { # WHAT
  ((failed == 0)) || { echo "crop: $1: import the queue again" >&2; exit 1; }
}

# Jobs that were requeued and held. None stays so, even if this ends early: then they start where Slurm has room.
declare -A left=()
give_back() {
  local id
  for id in "${!left[@]}"; do
    echo "crop: job $id was requeued and is released where Slurm has room for it" >&2
    scontrol update JobId="$id" StartTime=now || true
    scontrol release "$id" || true
  done
}
trap give_back EXIT

# A running job that may be moved gives up its GPUs, so that others can have them.
leave() { # ID NAME
  if ! runs "$1" "$2"; then
    alone "$1" "$2" "it does not run any more"
  elif scontrol requeuehold "$1"; then
    left[$1]=1
  else
    trouble "$1" "$2" "it cannot be requeued"
  fi
}

# It starts again where it is to go, once it has ended.
move() { # ID NAME NODES GPUS_PER_NODE NODELIST
  local waited=0
  [[ -v left[$1] ]] || return 0
  until [[ $(state "$1") == PENDING ]]; do
    ((waited++ < 120)) || { trouble "$1" "$2" "it does not end"; return 0; }
    sleep 1
  done
  fix "$1" "$3" "$4" "$5" || { trouble "$1" "$2" "Slurm does not place it"; return 0; }
  scontrol update JobId="$1" StartTime=now || true
  scontrol release "$1" || { trouble "$1" "$2" "it is not released"; return 0; }
  unset "left[$1]"
}

# A job of the queue with different numbers of GPUs on its nodes: only a heterogeneous job can have that, so it is
# submitted again as one with its script, without those of its directives that say what it needs, and then cancelled.
resubmit() { # ID NAME COMPONENT [: COMPONENT]...
  local id=$1 name=$2 uid script made option value user home shell asks
  local -a same=(--job-name="$2") clean=()
  ready "$id" "$name" || return 0
  shift 2
  # The script is its user's, and must not run as anybody else.
  uid=$(ask "$id" %U)
  if ((EUID == 0)) && [[ $uid =~ ^[0-9]+$ ]]; then
    same+=(--uid="$uid" --gid="$(ask "$id" %G)")
    # Nor must root's environment reach it.
    IFS=: read -r user _ _ _ _ home shell < <(getent passwd "$uid") || true
    clean=(env -i PATH="$PATH" USER="${user:-$uid}" LOGNAME="${user:-$uid}" HOME="${home:-/}" SHELL="${shell:-/bin/sh}")
    clean+=(${SLURM_CONF:+SLURM_CONF="$SLURM_CONF"})
  elif [[ $uid != "$EUID" ]]; then
    alone "$id" "$name" "only its user or root can submit it again"
    return 0
  fi
  for option in partition:%P account:%a qos:%q time:%l chdir:%Z; do
    value=$(ask "$id" "${option##*:}")
    case $value in '' | '(null)' | N/A | UNLIMITED | NOT_SET | INVALID) ;; *) same+=("--${option%%:*}=$value") ;; esac
  done
  for option in output:StdOut error:StdErr; do
    value=$(scontrol show job "$id" | sed -n "s|^   ${option##*:}=||p" | tail -n 1) || true
    case $value in '' | '(null)') ;; *) same+=("--${option%%:*}=$value") ;; esac
  done
  asks='-[NnGw]|--(nodes|ntasks|gpus|gres|nodelist)[^[:space:]]*'
  # Cores and memory of a GPU exclude other requests for cores and memory.
  [[ $* != *--cpus-per-gpu=* ]] || asks+='|-c|--cpus-per-(task|gpu)[^[:space:]]*'
  [[ $* != *--mem-per-gpu=* ]] || asks+='|--mem(-per-(cpu|gpu))?([=[:space:]]|$)'
  script=$(mktemp -d)
  if ! scontrol write batch_script "$id" "$script/all" >/dev/null; then
    alone "$id" "$name" "it has no batch script"
  elif grep -avE "^#SBATCH.*[[:space:]]($asks)" "$script/all" >"$script/job" &&
    made=$("${clean[@]}" sbatch --parsable "${same[@]}" "$@" "$script/job"); then
    echo "crop: job $id ($name) is now the heterogeneous job ${made%%;*}" >&2
    scancel "$id" || trouble "$id" "$name" "it is not cancelled, and would run twice"
  else
    trouble "$id" "$name" "Slurm does not take it again"
  fi
  rm -rf "$script"
}
