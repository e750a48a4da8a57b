#!/usr/bin/env bash
# Rules about the tree itself: every source file is in a target, none is too long, nothing is left half done.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0
complain() { echo "tidy: $*" >&2; failed=1; }

files=$(git ls-files '*.cc' '*.h' '*.proto' '*.cu' 2>/dev/null || find . -path ./build -prune -o \( -name '*.cc' -o -name '*.h' -o -name '*.proto' -o -name '*.cu' \) -print)
for file in $files; do
  [ -e "$file" ] || continue
  lines=$(wc -l <"$file")
  [ "$lines" -le 500 ] || complain "$file has $lines lines; split it by concept (500 at most)"
  if grep -nE '\b(TODO|FIXME|XXX|HACK)\b' "$file"; then complain "$file has a leftover marker"; fi
  case "$file" in
    *.cc)
      list=$(dirname "$file")/CMakeLists.txt
      while [ ! -e "$list" ]; do list=$(dirname "$(dirname "$list")")/CMakeLists.txt; done
      name=${file#"$(dirname "$list")"/}
      grep -qF "$name" "$list" || complain "$file is in no target of $list"
      ;;
  esac
done
exit $failed
