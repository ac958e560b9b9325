# shellcheck shell=bash
# Sourced by scripts/test, after prepare.sh: steps one after another, some beside others.
#
# What a runner leaves when its time is over (browsers, servers, clusters) has sessions and
# process groups of its own; it is known by a variable that it inherits. A lane ends with
# all of that, and so does the whole run.

run_mark=$$.$(date +%s)
# By the name of each lane that runs beside others: its process.
declare -A beside=()

# lane NAME COMMAND… : in the foreground, where a debugger can read the terminal.
lane() {
  local name=$1
  shift
  export TEST_LANE_OF_SPANWISE=$run_mark-$name-
  "$@"
  unset TEST_LANE_OF_SPANWISE
  end_marked "$run_mark-$name-"
}

# end_marked MARK : also what began in a session of its own.
end_marked() {
  (
    unset TEST_LANE_OF_SPANWISE
    exec "${tools_python:-python3}" "$root/scripts/end_lane.py" "$1"
  ) || true
}

# kill_group PID : what has not ended after 3 s is killed.
kill_group() {
  local _
  kill -TERM -- "-$1" 2>/dev/null || return 0
  for _ in {1..30}; do
    kill -0 -- "-$1" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$1" 2>/dev/null || true
}

# begin_beside NAME COMMAND… : a lane that runs while others do, in a process group of
# its own; join_beside waits for all such and shows what they said. Who waits for what a lane
# prepares sees by given-up-NAME that it does not come.
begin_beside() {
  local name=$1
  shift
  printf '\n── %s: begun, shown when it has ended\n' "$name"
  set -m
  (
    trap - INT TERM
    give_up() {
      failed_step - "$1"
      touch "$state/given-up-$name"
      exit 0
    }
    export TEST_LANE_OF_SPANWISE=$run_mark-$name-
    "$@"
  ) >"$state/beside-$name.log" 2>&1 </dev/null &
  beside[$name]=$!
  set +m
}

join_beside() {
  local name status
  for name in "${!beside[@]}"; do
    status=0
    wait "${beside[$name]}" || status=$?
    kill_group "${beside[$name]}"
    unset "beside[$name]"
    end_marked "$run_mark-$name-"
    cat "$state/beside-$name.log"
    [ "$status" -eq 0 ] || failed_step - "The lane $name"
  done
}

end_all() {
  local pid
  for pid in "${beside[@]}"; do
    kill_group "$pid"
  done
  end_marked "$run_mark-"
}
trap end_all EXIT
