#include "worker/compile/compiler_log.h"

#include <algorithm>
#include <cstdint>

#include "fmt/format.h"

namespace fsr {
namespace {

// Where NVRTC says that errors in the launched names are.
constexpr std::string_view kNameMap = "__nv_name_map(";
constexpr std::string_view kErrorMark = ": error: ";

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The number before `unit` in `line`, such as 12 in "Used 12 registers," for " registers".
uint32_t NumberBefore(std::string_view line, std::string_view unit) {
  size_t end = line.find(unit);
  if (end == std::string_view::npos) return 0;
  size_t start = end;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  uint64_t number = 0;
  for (char digit : line.substr(start, end - start)) number = number * 10 + static_cast<uint64_t>(digit - '0');
  return static_cast<uint32_t>(number);
}

std::string_view Between(std::string_view line, std::string_view before, std::string_view after) {
  size_t start = line.find(before);
  if (start == std::string_view::npos) return {};
  start += before.size();
  return line.substr(start, line.find(after, start) - start);
}

// Takes the figures of `--ptxas-options=-v` out of the log, line by line.
class PtxasReader {
 public:
  explicit PtxasReader(std::vector<v1::Resources>* resources) : resources_(*resources) {}

  // True if the line was one of the figures.
  bool Take(std::string_view line) {
    if (!line.starts_with("ptxas")) return false;
    if (Contains(line, "Compiling entry function '")) {
      resources_.emplace_back().set_kernel(std::string(Between(line, "Compiling entry function '", "'")));
      return true;
    }
    if (Contains(line, "bytes stack frame")) {
      TakeFrame(line);
      return true;
    }
    if (Contains(line, ": Used ") && Contains(line, " registers")) {
      if (!resources_.empty()) {
        resources_.back().set_registers_per_thread(NumberBefore(line, " registers"));
        resources_.back().set_shared_bytes_static(NumberBefore(line, " bytes smem"));
      }
      return true;
    }
    return Contains(line, "Function properties for ") || Contains(line, " bytes gmem") ||
           Contains(line, "Compile time = ") || Contains(line, "Overriding ");
  }

 private:
  // A kernel's spills are its own and those of the functions it calls; its stack is the deepest of them.
  void TakeFrame(std::string_view line) {
    if (resources_.empty()) return;
    v1::Resources& kernel = resources_.back();
    uint32_t stack = NumberBefore(line, " bytes stack frame");
    kernel.set_local_bytes_per_thread(std::max(kernel.local_bytes_per_thread(), stack));
    kernel.set_spill_bytes(kernel.spill_bytes() + NumberBefore(line, " bytes spill stores"));
  }

  std::vector<v1::Resources>& resources_;
};

bool StartsMessage(std::string_view line) { return Contains(line, "): ") && !line.starts_with(" "); }

bool IsCount(std::string_view line) {
  return Contains(line, "detected in the compilation of \"") && line[0] >= '0' && line[0] <= '9';
}

}  // namespace

CompilerLog ReadCompilerLog(std::string_view log) {
  CompilerLog result;
  PtxasReader ptxas(&result.resources);
  bool in_name_error = false;
  std::string count_line;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (ptxas.Take(line)) continue;
    if (line.starts_with(kNameMap)) {
      in_name_error = true;
      size_t mark = line.find(kErrorMark);
      // The second message of each pair only repeats that there is an error.
      if (mark != std::string_view::npos && !Contains(line, "Error in parsing name expression")) {
        result.name_errors.emplace_back(line.substr(mark + kErrorMark.size()));
      }
      continue;
    }
    if (StartsMessage(line) || line.starts_with("ptxas") || line.starts_with("nvrtc")) in_name_error = false;
    if (in_name_error && !IsCount(line)) continue;
    if (IsCount(line)) {
      count_line = line;  // it counts the errors in names, too
      continue;
    }
    result.has_other_errors |= Contains(line, "error");
    result.text.append(line).push_back('\n');
  }
  if (result.name_errors.empty() && !count_line.empty()) result.text.append(count_line).push_back('\n');
  while (result.text.ends_with("\n\n") || result.text == "\n") result.text.pop_back();
  return result;
}

std::string CutMiddle(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  const std::string gap = fmt::format("\n[… {} bytes of the middle are left out …]\n", text.size() - bytes_max);
  const size_t keep = bytes_max > gap.size() ? bytes_max - gap.size() : 0;
  size_t head = keep / 2;
  size_t tail = keep - head;
  // Not in the middle of a UTF-8 character.
  while (head > 0 && (static_cast<unsigned char>(text[head]) & 0xc0) == 0x80) --head;
  while (tail > 0 && (static_cast<unsigned char>(text[text.size() - tail]) & 0xc0) == 0x80) --tail;
  return fmt::format("{}{}{}", text.substr(0, head), gap, text.substr(text.size() - tail));
}

}  // namespace fsr
