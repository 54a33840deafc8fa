#!/bin/sh
# A worker in plain shell: curl and the tools of POSIX. It serves one queue, one task at a time, until it is stopped.
#
#   examples/shell-worker.sh check_job                       answers {"ready":true} to every task
#   examples/shell-worker.sh check_job ./my-command          runs a command: the input of the task is its stdin,
#                                                            its stdout (a JSON object) the output; exit 0 completes
#                                                            the task, any other fails the attempt
#
# RONDO_URL, RONDO_NAMESPACE and RONDO_API_KEY say where the server is. With TASKS_MAX it stops after so many tasks.
set -eu

queue=${1:?usage: shell-worker.sh <queue> [command]}
command=${2:-}
base="${RONDO_URL:-http://127.0.0.1:8080}/v1/ns/${RONDO_NAMESPACE:-default}"
worker="shell-$$"
left=${TASKS_MAX:--1}

post() { # path body
  if [ -n "${RONDO_API_KEY:-}" ]; then
    # The key goes through stdin, so that no list of processes shows it.
    printf 'header = "authorization: Bearer %s"\n' "$RONDO_API_KEY" |
      curl -sS --fail-with-body -K - -H 'content-type: application/json' --data-binary "$2" "$base$1"
  else
    curl -sS --fail-with-body -H 'content-type: application/json' --data-binary "$2" "$base$1"
  fi
}

# The first occurrence wins: the server writes the fields of a task before its input.
field() { # name json
  printf '%s' "$2" | awk -v name="$1" '{
    if (match($0, "\"" name "\":\"[^\"]*\"")) print substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
  }'
}

# The input begins at the first `"input":` after the lease and ends before the last `"scheduledAt":`, which is the task's own.
input_of() { # json
  printf '%s' "$1" | awk '{
    if (!match($0, /"leaseExpiresAt":"[^"]*","input":/)) exit 1
    rest = substr($0, RSTART + RLENGTH)
    last = 0
    while ((at = index(substr(rest, last + 1), ",\"scheduledAt\":")) > 0) last += at
    print substr(rest, 1, last - 1)
  }'
}

perform() { # input
  if [ -n "$command" ]; then printf '%s' "$1" | "$command"; else printf '{"ready":true}'; fi
}

trap 'exit 0' INT TERM

while [ "$left" -ne 0 ]; do
  if ! answer=$(post "/queues/$queue/lease" "{\"workerId\":\"$worker\",\"count\":1,\"waitSeconds\":20}"); then
    printf '%s: the server did not answer, again in 5 s\n' "$worker" >&2
    sleep 5
    continue
  fi
  task=$(field taskId "$answer")
  [ -n "$task" ] || continue
  token=$(field leaseToken "$answer")
  if output=$(perform "$(input_of "$answer")"); then
    report="{\"leaseToken\":\"$token\",\"status\":\"COMPLETED\",\"output\":$output}"
  else
    report="{\"leaseToken\":\"$token\",\"status\":\"FAILED\",\"reason\":\"the command failed\"}"
  fi
  post "/tasks/$task/report" "$report" >&2 || printf '%s: the report of %s was refused\n' "$worker" "$task" >&2
  printf '\n' >&2
  left=$((left - 1))
done
