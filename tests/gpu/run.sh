#!/usr/bin/env bash
# Proof on a GPU, from a build folder or an unpacked bundle: every part, or those named, each into a file of RESULTS.
#   tests/gpu/run.sh [tests|counters|aa|stages|faults|simulator|search|rate|ncu|pytorch]…
# RESULTS=folder (default ./gpu-results), DEVICE=cuda:0. Each part has a limit of its own and says how far it came, so
# that all together take about 12 minutes; SCALE=3 gives every part three times as long.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${FSR_BIN:-}
for folder in "$here/../../bin" "$here/../../build/release/bin"; do
  [ -z "$bin" ] && [ -x "$folder/gpu_bench" ] && bin=$(cd "$folder" && pwd)
done
[ -n "$bin" ] || { echo "run.sh: no gpu_bench in a bin folder above $here; build it, or set FSR_BIN" >&2; exit 2; }
device=${DEVICE:-cuda:0}
results=${RESULTS:-gpu-results}
scale=${SCALE:-1}
mkdir -p "$results"
results=$(cd "$results" && pwd)
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
export FSR_STATE_DIR=$state XDG_CACHE_HOME=$state/cache FSR_TEST_DEVICE=$device FSR_BIN=$bin
tasks=(dot_product histogram matmul monte_carlo prefix_sum reduction sigmoid transpose)
failed=()

# part NAME LIMIT_SECONDS COMMAND…: standard output into NAME.md, below a header that says what it is of.
part() {
  local name=$1 limit=$(($2 * scale)) started=$SECONDS
  shift 2
  local gpu
  gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)
  { echo "<!-- $(date -u +%F) | ${gpu:-no nvidia-smi} | ${*##"$bin"/} -->"; echo; } >"$results/$name.md"
  local command=(timeout --kill-after=10 "$limit" "$@")
  [ "$(type -t "$1")" = function ] && command=("$@")  # it limits its own steps
  if "${command[@]}" >>"$results/$name.md" 2>"$results/$name.log"; then
    echo "$name: ok ($((SECONDS - started)) s)"
  else
    echo "$name: FAILED with $? after $((SECONDS - started)) s; see $results/$name.md and $name.log"
    tail -n 3 "$results/$name.log"
    failed+=("$name")
  fi
}

# One short search a task; its job as JSON.
search_all() {
  local limits=(--seed 1 --rounds 3 --candidates 6 --wall-seconds $((8 * scale)))
  mkdir -p "$results/search"
  echo "Searches: fsr run TASK --device $device ${limits[*]}"
  echo
  for task in "${tasks[@]}"; do
    timeout $((60 * scale)) "$bin/fsr" run "$task" --device "$device" --json "${limits[@]}" \
      --output "$results/search/$task.cu" >"$results/search/$task.json" ||
      echo "search: $task gave no winner"
  done
  "$bin/gpu_bench" table --device "$device" --folder "$results/search" &&
    "$bin/gpu_bench" bandwidth --device "$device" --folder "$results/search"
}

run_part() {
  case $1 in
    tests) part tests 180 "$bin/gpu_tests" --durations yes ;;
    counters) part counters 60 "$bin/profile_gpu_check" ;;
    aa) part aa 150 "$bin/gpu_bench" aa --device "$device" --count 300 --seconds $((70 * scale)) ;;
    stages) part stages 120 "$bin/gpu_bench" stages --device "$device" --full --count 3 --seconds $((50 * scale)) ;;
    faults) part faults 200 "$bin/gpu_bench" faults --device "$device" --count 300 --seconds $((100 * scale)) ;;
    simulator) part simulator 240 "$bin/gpu_bench" simulator --device "$device" --count 10 ;;
    search) part search 240 search_all ;;
    rate) part rate 90 "$bin/gpu_bench" rate transpose --device "$device" --count 10 --folder "$results/rate" ;;
    ncu) part ncu 200 "$here/ncu.sh" "$results/ncu" ;;
    pytorch) part pytorch 240 python3 "$here/pytorch_compare.py" "$results/rate" --count "$((2 * scale))" ;;
    *) echo "run.sh: there is no part \"$1\"" >&2; exit 2 ;;
  esac
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(tests counters aa stages faults simulator search rate ncu pytorch)
for name in "${parts[@]}"; do run_part "$name"; done
echo "results in $results"
[ ${#failed[@]} -eq 0 ]
