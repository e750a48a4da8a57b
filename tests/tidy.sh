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
      # Named by the CMakeLists.txt of its own folder or of one beside it.
      git grep -qwF "$(basename "$file")" -- '*CMakeLists.txt' || complain "$file is in no target"
      ;;
  esac
done
exit $failed
