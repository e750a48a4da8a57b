#include "worker/runner/instruction_rules.h"

#include <algorithm>

#include "fmt/format.h"

namespace fsr {
namespace {

std::map<std::string, uint64_t> AskedFor(const v1::Task& task) {
  std::map<std::string, uint64_t> counts;
  for (const std::string& prefix : task.required_instructions()) counts[prefix] = 0;
  for (const std::string& prefix : task.forbidden_instructions()) counts[prefix] = 0;
  return counts;
}

void Count(std::string_view opcode, uint64_t times, std::map<std::string, uint64_t>* counts) {
  for (auto& [prefix, count] : *counts) {
    if (opcode.starts_with(prefix)) count += times;
  }
}

// The opcode of one statement, without braces, label and guard: "@%p1 bra $L" -> "bra".
std::string_view OpcodeOf(std::string_view statement) {
  auto skip = [&](std::string_view characters) {
    statement.remove_prefix(std::min(statement.size(), statement.find_first_not_of(characters)));
  };
  skip(" \t\r{}");
  if (statement.starts_with("@")) {
    statement.remove_prefix(std::min(statement.size(), statement.find_first_of(" \t")));
    skip(" \t");
  }
  return statement.substr(0, statement.find_first_of(" \t;"));
}

}  // namespace

std::map<std::string, uint64_t> CountAskedFor(const v1::Task& task,
                                              const std::map<std::string, uint64_t>& executed_instructions) {
  std::map<std::string, uint64_t> counts = AskedFor(task);
  for (const auto& [opcode, times] : executed_instructions) Count(opcode, times, &counts);
  return counts;
}

std::map<std::string, uint64_t> CountInPtx(const v1::Task& task, std::string_view ptx) {
  std::map<std::string, uint64_t> counts = AskedFor(task);
  while (!ptx.empty()) {
    std::string_view line = ptx.substr(0, ptx.find('\n'));
    ptx.remove_prefix(std::min(ptx.size(), line.size() + 1));
    line = line.substr(0, line.find("//"));
    // Inline assembly may put several statements on a line.
    while (!line.empty()) {
      std::string_view statement = line.substr(0, line.find(';'));
      line.remove_prefix(std::min(line.size(), statement.size() + 1));
      Count(OpcodeOf(statement), 1, &counts);
    }
  }
  return counts;
}

std::optional<BrokenRule> FindBrokenRule(const v1::Task& task, const std::map<std::string, uint64_t>& counts) {
  auto count_of = [&](const std::string& prefix) {
    auto found = counts.find(prefix);
    return found == counts.end() ? uint64_t{0} : found->second;
  };
  for (const std::string& prefix : task.forbidden_instructions()) {
    if (count_of(prefix) == 0) continue;
    return BrokenRule{prefix, fmt::format("The task forbids {} instructions, and the kernel uses them.", prefix)};
  }
  for (const std::string& prefix : task.required_instructions()) {
    if (count_of(prefix) > 0) continue;
    return BrokenRule{prefix,
                      fmt::format("The task requires {} instructions, and the kernel never executes one.", prefix)};
  }
  return std::nullopt;
}

}  // namespace fsr
