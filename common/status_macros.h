// The two macros for absl::Status. Debian's Abseil (20220623) has none; when it does, this file goes away.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the current function if `expr` (an absl::Status) is not OK.
#define RETURN_IF_ERROR(expr)                                   \
  do {                                                          \
    if (absl::Status fsr_status_ = (expr); !fsr_status_.ok()) { \
      return fsr_status_;                                       \
    }                                                           \
  } while (false)

#define FSR_CONCAT_INNER_(a, b) a##b
#define FSR_CONCAT_(a, b) FSR_CONCAT_INNER_(a, b)

// Declares or assigns `lhs` from `expr` (an absl::StatusOr), or returns its status.
#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_IMPL_(FSR_CONCAT_(fsr_status_or_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL_(status_or, lhs, expr) \
  auto status_or = (expr);                           \
  if (!status_or.ok()) return status_or.status();    \
  lhs = *std::move(status_or)
