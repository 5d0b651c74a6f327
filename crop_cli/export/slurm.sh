# Text that `scontrol show job` gives for a field of a job.
field() { # ID FIELD
  scontrol --oneliner show job "$1" | tr ' ' '\n' | sed -n "s|^$2=||p" | head -n 1
}

# What squeue knows about a job; nothing if it has left the queue.
state() { # ID
  squeue --noheader --jobs="$1" --states=all --format=%T 2>/dev/null | head -n 1 || true
}

name() { # ID
  squeue --noheader --jobs="$1" --states=all --format=%j 2>/dev/null | head -n 1 || true
}

# Whether a job of the queue may still be placed, and is the one that was meant. A held job is; one that runs is not.
ready() { # ID NAME
  local state name
  state=$(state "$1")
  name=$(name "$1")
  if [[ $state != PENDING ]]; then
    echo "crop: job $1 ($2) is left alone: it is ${state:-not in the queue}, not PENDING" >&2
    return 1
  elif [[ $name != "$2" ]]; then
    echo "crop: job $1 is left alone: it is called $name, not $2" >&2
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
  type=$(scontrol --oneliner show job "$1" | sed -n 's|.* TresPer[A-Za-z]*=[^ ]*gpu:\([^:=, ]*\)[:=][0-9].*|\1|p')
  scontrol update JobId="$1" ReqNodeList="$4" NumNodes="$2-$2" Gres="gpu:${type:+$type:}$3"
}

# A job of the queue, as many GPUs on each node.
place() { # ID NAME NODES GPUS_PER_NODE NODELIST
  ready "$1" "$2" || return 0
  fix "$1" "$3" "$4" "$5"
  release "$1"
}

declare -A left=()

# A running job that may be moved gives up its GPUs, so that others can have them.
leave() { # ID NAME
  if [[ $(state "$1") == RUNNING && $(name "$1") == "$2" ]]; then
    scontrol requeuehold "$1"
    left[$1]=1
  else
    echo "crop: job $1 ($2) is left alone: it does not run any more" >&2
  fi
}

# It starts again where it is to go, once it has ended.
move() { # ID NODES GPUS_PER_NODE NODELIST
  local waited=0
  [[ -v left[$1] ]] || return 0
  until [[ $(state "$1") == PENDING ]]; do
    ((waited++ < 120)) || { echo "crop: job $1 does not end" >&2; return 1; }
    sleep 1
  done
  fix "$1" "$2" "$3" "$4"
  scontrol update JobId="$1" StartTime=now
  scontrol release "$1"
}

# A job of the queue with different numbers of GPUs on its nodes: only a heterogeneous job can have that, so it is
# submitted again as one with its script, without those of its directives that say what it needs, and then cancelled.
resubmit() { # ID NAME COMPONENT [: COMPONENT]...
  local id=$1 name=$2 script made key value
  local -a same=(--job-name="$2")
  ready "$id" "$name" || return 0
  shift 2
  for key in Partition:partition Account:account QOS:qos TimeLimit:time WorkDir:chdir StdOut:output StdErr:error; do
    value=$(field "$id" "${key%%:*}")
    case $value in '' | '(null)' | UNLIMITED) ;; *) same+=("--${key##*:}=$value") ;; esac
  done
  if ((EUID == 0)); then
    value=$(field "$id" UserId)
    same+=("--uid=${value%%(*}")
    value=$(field "$id" GroupId)
    same+=("--gid=${value%%(*}")
  fi
  script=$(mktemp)
  scontrol write batch_script "$id" "$script.all" >/dev/null
  grep -Ev '^#SBATCH.*[[:space:]](-[NnGw]|--(nodes|ntasks|gpus|gres|nodelist)[^[:space:]]*)' "$script.all" >"$script"
  made=$(sbatch --parsable "${same[@]}" "$@" "$script")
  rm -f "$script" "$script.all"
  scancel "$id"
  echo "crop: job $id ($name) is now the heterogeneous job ${made%%;*}" >&2
}
