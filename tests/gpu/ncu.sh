#!/usr/bin/env bash
# The meter's cold times beside Nsight Compute's gpu__time_duration, for the baseline and the tunable kernel of every
# bundled task at full size: same clocks (not locked by ncu), caches flushed before every kernel. Fills are no kernels
# for ncu, so the times compared are those of the kernels alone; `plan` is what the meter reports for the whole.
#   tests/gpu/ncu.sh [folder] [task…]
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${FSR_BIN:-}
for folder in "$here/../../bin" "$here/../../build/release/bin"; do
  [ -z "$bin" ] && [ -x "$folder/gpu_bench" ] && bin=$(cd "$folder" && pwd)
done
[ -n "$bin" ] || { echo "ncu.sh: no gpu_bench in a bin folder above $here; build it, or set FSR_BIN" >&2; exit 2; }
device=${DEVICE:-${FSR_TEST_DEVICE:-cuda:0}}
folder=${1:-ncu-results}
shift $(($# > 0 ? 1 : 0))
runs=${COUNT:-7}
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | head -1)
[ -n "$ncu" ] || { echo "ncu.sh: Nsight Compute's ncu is not on PATH nor in /usr/local/cuda/bin" >&2; exit 2; }
mkdir -p "$folder"

"$bin/gpu_bench" cold --device "$device" "$@" >"$folder/cold.txt" || exit 2
echo "| task | kernel | launches | plan us | kernels us | ncu us | ratio | |"
echo "|---|---|---:|---:|---:|---:|---:|---|"
bad=0
while read -r task kernel launches plan_us kernels_us; do
  csv=$folder/$task-$kernel.csv
  if ! "$ncu" --csv --print-units base --metrics gpu__time_duration.sum --clock-control none --cache-control all \
    --target-processes application-only "$bin/gpu_bench" once "$task" --kernel "$kernel" --device "$device" \
    --count "$runs" >"$csv" 2>"$folder/$task-$kernel.log"; then
    echo "ncu.sh: ncu failed on $task $kernel; see $csv" >&2
    grep -m 2 '==ERROR==' "$csv" >&2
    bad=1
    continue
  fi
  # Sums of every `launches` rows in order (one plan each), in us; then their median. The first plan is a warm-up.
  ncu_us=$(grep 'gpu__time_duration' "$csv" | sed 's/.*,"\([0-9.,]*\)"[^"]*$/\1/; s/,//g' |
    awk -v launches="$launches" '{ sum += $1 } NR % launches == 0 { if (NR > launches) print sum / 1000; sum = 0 }' |
    sort -n | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }')
  [ -n "$ncu_us" ] || { echo "ncu.sh: no gpu__time_duration in $csv" >&2; bad=1; continue; }
  awk -v t="$task" -v k="$kernel" -v l="$launches" -v p="$plan_us" -v m="$kernels_us" -v n="$ncu_us" 'BEGIN {
    ratio = m / n; off = ratio > 1.03 || ratio < 0.97
    printf "| %s | %s | %d | %.2f | %.2f | %.2f | %.3f | %s |\n", t, k, l, p, m, n, ratio,
      n <= 20 ? "at most 20 us" : off ? "more than 3 % apart" : "" ; exit n > 20 && off }' || bad=1
done <"$folder/cold.txt"
echo
exit $bad
