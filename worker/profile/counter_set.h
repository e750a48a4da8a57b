// Which hardware metrics are asked for, and what they are called for people and prompts. Pure.
//
// The names are those of GH100; a chip that lacks one leaves its counter out. Counters that mean what one of the
// simulator's means have its name (worker/device/sim/cost_counters.cc).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fsr/v1/evaluation.pb.h"

namespace fsr {

// All are taken in about ten runs of the plan.
std::vector<std::string> CuratedMetrics();

// What is known of the plan without counters.
struct ProfiledPlan {
  v1::DeviceFacts device{};
  std::vector<v1::Resources> resources{};  // an entry for each different launch
  double latency_us = 0;                   // by events, cold: rates are against it, never against a profiled run's time
  double floor_us = 0;                     // the least time the hardware allows
  double least_bytes = 0;                  // that the task must move; 0 where it does not say
  double flops = 0;                        // of the task; 0 where it does not say
  bool half_or_integer_data = false;       // types that tensor cores take
};

// Counters with a meaning for the plan as a whole, in a fixed order. Occupancy, waves and the like are left out where
// the plan has launches that differ: they have no single value.
std::vector<v1::Counter> CountersOf(const std::map<std::string, double>& metrics, const ProfiledPlan& plan);

}  // namespace fsr
