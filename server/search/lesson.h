// What a job found out, in plain words made by rule.
#pragma once

#include <optional>

#include "server/store/store.h"

namespace fsr {

inline constexpr int kLessonStepsMax = 12;  // of a lineage, those that brought most
inline constexpr int kLessonTextBytesMax = 4 * 1024;

// The lesson of a job as it is now; nullopt: no right kernel is faster than the baseline, or the job has `no_memory`.
// It tells by how much the winner (the incumbent) is faster, the steps of its lineage from the first right kernel on,
// each with what the generator said it changed and what that brought, its `tune` values, and what limits it. Of cases
// it names none. Pure.
std::optional<NewLesson> LessonOf(const JobFacts& facts);

}  // namespace fsr
