// The facts that templates name, gathered from the records of a job. Each function adds its keys to `data`.
#pragma once

#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>

#include "server/prompts/prompts.h"

namespace fsr {

using PromptData = kainjow::mustache::data;

// task_name, description, signature, parameters[line], cases, has_held_out, held_out_count, measured_case, tolerance,
// size_names, fixed_launch, compile_options, required_instructions[name], forbidden_instructions[name].
void AddTask(const v1::Task& task, bool simulated, PromptData* data);

// architecture, device_lines[line], device_limits, arch.
void AddDevice(const v1::DeviceFacts& device, const PromptTemplates& templates, PromptData* data);

// candidate_number, code, what_happened, diagnosis, compile_log, faults[line], mismatches[line], hidden_failure: of a
// failed candidate. Nothing that a held-out case's result says is among them but that there was one.
void AddFailure(const JobFacts& facts, const StoredCandidate& candidate, PromptData* data);

// candidate_number, is_incumbent, code, latency, speedup, floor, floor_share, estimated, limited_by, has_hints,
// hints[line], has_tried, tried[number, parent, change, outcome, latency], tried_left_out: of a right candidate.
void AddPerformance(const JobFacts& facts, const StoredCandidate& candidate, PromptData* data);

// has_other_failures, failures_shown[the keys of AddFailure]: of the candidates with these numbers, as far as their
// code fits into kOtherFailuresBytesMax.
void AddOtherFailures(const JobFacts& facts, const std::vector<int>& numbers, PromptData* data);

// has_lessons, lessons_shown[lesson_task, lesson_device, lesson_speedup, lesson_how, lesson_text, lesson_code]: what
// earlier jobs found out, within kLessonsBytesMax.
void AddLessons(const JobFacts& facts, PromptData* data);

// "12.3 us", or "an estimated 12.3 us".
std::string LatencyText(const v1::Measurement& measurement);

// The code as a fenced block, its middle left out beyond kPromptCodeBytesMax.
std::string CodeText(std::string_view source);

// `text`, its middle left out beyond `bytes_max`, with a line that says how much.
std::string CutMiddle(std::string_view text, size_t bytes_max);

// One line without line breaks and at most `bytes_max` long, fit for a cell of a Markdown table.
std::string OneLine(std::string_view text, size_t bytes_max);

// A list for a section of a template: objects with the one key `key`.
PromptData ListOf(const std::vector<std::string>& texts, const std::string& key = "line");

}  // namespace fsr
